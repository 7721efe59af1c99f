"""Writers of films: frames one after another into a file, a GIF by Pillow or an MP4 by ffmpeg.

Both write frames as they come, so that a long episode needs no more memory than a short one. A GIF has 256 colours:
those of the first frames, those that must be kept, and a coarse grid for later frames. Of each frame only the part
that changed is written.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from contextlib import closing
from importlib import import_module
from pathlib import Path

import numpy as np
from PIL import GifImagePlugin, Image, ImageChops

__all__ = ["Color", "GifWriter", "MP4Writer", "open_film"]

Color = tuple[int, int, int]
N_SAMPLED = 24
"""Frames that a GIF collects before it chooses its colours."""


def open_film(path: Path, fps: float, keep: Sequence[Color] = ()) -> closing[GifWriter | MP4Writer]:
    """Open a film of the format that the suffix names, .gif or .mp4, as a context; a GIF must have the colours to keep.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open_film(Path(folder, "grey.gif"), fps=10) as film:
    ...         for shade in (0, 100, 200):
    ...             film.add(Image.new("RGB", (8, 8), (shade, shade, shade)))
    ...     Image.open(Path(folder, "grey.gif")).n_frames
    3
    """
    if not fps > 0:
        raise ValueError(f"fps must be positive, got {fps}.")
    if path.suffix.lower() == ".gif":
        return closing(GifWriter(path, fps, keep))
    if path.suffix.lower() == ".mp4":
        return closing(MP4Writer(path, fps))
    raise ValueError(f"path must end in .gif or .mp4, got {str(path)!r}.")


class GifWriter:
    """A GIF; all frames have the size of the first."""

    def __init__(self, path: Path, fps: float, keep: Sequence[Color]) -> None:
        # A GIF counts in hundredths of a second, and no player shows more than 50 frames per second.
        self.duration = 10 * max(2, round(100 / fps))
        self.keep = keep
        self.file = path.open("wb")
        self.waiting: list[Image.Image] = []
        self.palette: Image.Image | None = None
        self.last: Image.Image | None = None

    def add(self, frame: Image.Image) -> None:
        """Write what changed, once the colours are chosen."""
        self.waiting.append(frame)
        if self.palette is not None or len(self.waiting) == N_SAMPLED:
            self._write_waiting()

    def close(self) -> None:
        """Write the frames that wait, and the end mark."""
        self._write_waiting()
        self.file.write(b";")
        self.file.close()

    def _write_waiting(self) -> None:
        if self.palette is None and self.waiting:
            self.palette = _palette(self.waiting, self.keep)
        for frame in self.waiting:
            self._write(frame.quantize(palette=self.palette, dither=Image.Dither.NONE))
        self.waiting.clear()

    def _write(self, indexed: Image.Image) -> None:
        if self.last is None:
            self.file.writelines(GifImagePlugin.getheader(indexed, info={"loop": 0})[0])
            box = (0, 0, *indexed.size)
        else:  # if nothing changed, one pixel, to keep the time
            box = ImageChops.difference(self.last, indexed).getbbox() or (0, 0, 1, 1)
        self.last = indexed
        self.file.writelines(GifImagePlugin.getdata(indexed.crop(box), box[:2], duration=self.duration))


class MP4Writer:
    """An MP4; all frames have the size of the first."""

    def __init__(self, path: Path, fps: float) -> None:
        self.path, self.fps, self.program = path, fps, _find_ffmpeg()
        self.process: subprocess.Popen[bytes] | None = None

    def add(self, frame: Image.Image) -> None:
        """Pass the pixels to ffmpeg."""
        if self.process is None:
            source = f"-f rawvideo -pix_fmt rgb24 -s {frame.width}x{frame.height} -r {self.fps:g} -i -"
            even_sides = "pad=ceil(iw/2)*2:ceil(ih/2)*2"  # the encoder needs them
            target = f"-an -vf {even_sides} -c:v libx264 -pix_fmt yuv420p -crf 20"
            command = [self.program, "-y", "-loglevel", "error", *source.split(), *target.split(), str(self.path)]
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        assert self.process.stdin is not None
        self.process.stdin.write(frame.tobytes())

    def close(self) -> None:
        """Wait until ffmpeg has written the file."""
        if self.process is None:
            return
        _, errors = self.process.communicate()
        if self.process.returncode:
            raise RuntimeError(f"ffmpeg could not write {self.path}: {errors.decode(errors='replace').strip()[-500:]}")


def _find_ffmpeg() -> str:
    """Find the program: that of the package imageio-ffmpeg, or one that is installed."""
    try:
        program: str | None = import_module("imageio_ffmpeg").get_ffmpeg_exe()
    except ModuleNotFoundError:
        program = shutil.which("ffmpeg")
    if program is None:
        raise ImportError(
            "an MP4 needs ffmpeg, which was not found; install it with: pip install imageio-ffmpeg, or write a .gif."
        )
    return program


def _palette(frames: Sequence[Image.Image], keep: Sequence[Color]) -> Image.Image:
    """Choose 256 colours: a coarse grid, those to keep, and the most frequent of the frames."""
    grid = [(r, g, b) for r in (0, 85, 170, 255) for g in (0, 85, 170, 255) for b in (0, 128, 255)]
    fixed = list(dict.fromkeys([*keep, *grid]))[:128]
    sample = Image.fromarray(np.concatenate([np.asarray(frame) for frame in frames[:: max(1, len(frames) // 6)]]))
    reduced = sample.quantize(256 - len(fixed), method=Image.Quantize.MEDIANCUT)
    frequent = np.array(reduced.getpalette() or [], dtype=np.int64).reshape(-1, 3)
    # Pillow looks up the nearest colour in cells of 4 x 4 x 4: a colour near white would replace white.
    distinct = np.abs(frequent[:, None] - np.array(fixed)).max(axis=2).min(axis=1) > 8
    colors = np.concatenate([fixed, frequent[distinct]])
    palette = Image.new("P", (1, 1))
    palette.putpalette(np.resize(colors, (256, 3)).ravel().tolist())
    return palette
