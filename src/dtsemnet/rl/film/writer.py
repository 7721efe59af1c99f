"""Pictures one after another, into a file: a GIF by Pillow, an MP4 by ffmpeg.

Both write as the pictures come, so that an episode of any length needs no more memory than a short one. A GIF has 256
colours: those of the first pictures, those it is told to keep, and a coarse grid for what may come later. Of each
picture only the part that changed is written.
"""

from __future__ import annotations

import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from PIL import GifImagePlugin, Image

__all__ = ["Film", "open_film"]

Color = tuple[int, int, int]
_WARM_UP = 24
"""Pictures that a GIF looks at before it chooses its colours."""


class Film(ABC):
    """A file that pictures are added to; closed as a context manager."""

    @abstractmethod
    def add(self, picture: Image.Image) -> None:
        """Append a picture; all have the size of the first."""

    @abstractmethod
    def close(self) -> None:
        """Finish the file."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_film(path: Path, fps: float, keep: Sequence[Color] = ()) -> Film:
    """Open a film of the kind that the suffix names.

    Parameters
    ----------
    path : Path
        Ends in ``.gif`` or ``.mp4``.
    fps : float
        Pictures a second. A GIF counts in hundredths of a second, and no player shows more than 50.
    keep : sequence of colours
        Colours that a GIF must have.

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
        return _Gif(path, fps, keep)
    if path.suffix.lower() == ".mp4":
        return _Mp4(path, fps)
    raise ValueError(f"path must end in .gif or .mp4, got {str(path)!r}.")


class _Gif(Film):
    def __init__(self, path: Path, fps: float, keep: Sequence[Color]) -> None:
        self.duration = 10 * max(2, round(100 / fps))
        self.keep = keep
        self.file = path.open("wb")
        self.waiting: list[Image.Image] = []
        self.palette: Image.Image | None = None
        self.last: NDArray[np.uint8] | None = None

    def add(self, picture: Image.Image) -> None:
        """Write what changed, once the colours are chosen."""
        if self.palette is not None:
            self._write(picture, self.palette)
            return
        self.waiting.append(picture)
        if len(self.waiting) == _WARM_UP:
            self._start()

    def close(self) -> None:
        """Write what waits, and the end mark."""
        if self.palette is None and self.waiting:
            self._start()
        self.file.write(b";")
        self.file.close()

    def _start(self) -> None:
        self.palette = _palette(self.waiting, self.keep)
        for picture in self.waiting:
            self._write(picture, self.palette)
        self.waiting.clear()

    def _write(self, picture: Image.Image, palette: Image.Image) -> None:
        indexed = picture.quantize(palette=palette, dither=Image.Dither.NONE)
        pixels = np.asarray(indexed)
        if self.last is None:
            self.file.writelines(GifImagePlugin.getheader(indexed, info={"loop": 0})[0])
            box = (0, 0, *indexed.size)
        else:
            box = _changed(self.last, pixels)
        self.last = pixels
        self.file.writelines(GifImagePlugin.getdata(indexed.crop(box), box[:2], duration=self.duration))


class _Mp4(Film):
    def __init__(self, path: Path, fps: float) -> None:
        self.path, self.fps, self.program = path, fps, _ffmpeg()
        self.process: subprocess.Popen[bytes] | None = None

    def add(self, picture: Image.Image) -> None:
        """Hand the pixels to ffmpeg."""
        width, height = (side + side % 2 for side in picture.size)  # the encoder takes even sides alone
        if (width, height) != picture.size:
            picture = picture.transform((width, height), Image.Transform.EXTENT, (0, 0, width, height))
        if self.process is None:
            self.process = self._begin(width, height)
        assert self.process.stdin is not None
        self.process.stdin.write(picture.tobytes())

    def close(self) -> None:
        """Wait until ffmpeg has written the file."""
        if self.process is None:
            return
        _, errors = self.process.communicate()
        if self.process.returncode:
            raise RuntimeError(f"ffmpeg could not write {self.path}: {errors.decode(errors='replace').strip()[-500:]}")

    def _begin(self, width: int, height: int) -> subprocess.Popen[bytes]:
        source = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", f"{self.fps:g}", "-i", "-"]
        target = ["-an", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "20", str(self.path)]
        return subprocess.Popen(
            [self.program, "-y", "-loglevel", "error", *source, *target],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )


def _ffmpeg() -> str:
    """Find the program: that of the package imageio-ffmpeg, or one that is installed."""
    try:
        package: Any = import_module("imageio_ffmpeg")
    except ModuleNotFoundError:
        found = shutil.which("ffmpeg")
    else:
        found = package.get_ffmpeg_exe()
    if found is None:
        raise ImportError(
            "an MP4 needs ffmpeg, which was not found; install it with: pip install imageio-ffmpeg, or write a .gif."
        )
    return str(found)


def _palette(pictures: Sequence[Image.Image], keep: Sequence[Color]) -> Image.Image:
    """Choose 256 colours: a coarse grid, those to keep, and the most frequent of the pictures."""
    grid = [(r, g, b) for r in (0, 85, 170, 255) for g in (0, 85, 170, 255) for b in (0, 128, 255)]
    fixed = list(dict.fromkeys([*keep, *grid]))[:128]
    shown = pictures[:: max(1, len(pictures) // 6)]
    width, height = shown[0].size
    board = Image.new("RGB", (width, height * len(shown)))
    for place, picture in enumerate(shown):
        board.paste(picture, (0, place * height))
    reduced = board.quantize(256 - len(fixed), method=Image.Quantize.MEDIANCUT)
    frequent = np.array(reduced.getpalette() or [], dtype=np.int64).reshape(-1, 3)
    # Pillow looks up the nearest colour in cells of 4 x 4 x 4: a near-white would take the place of white.
    far = np.abs(frequent[:, None] - np.array(fixed)).max(axis=2).min(axis=1) > 8
    colors = np.concatenate([fixed, frequent[far]])
    palette = Image.new("P", (1, 1))
    palette.putpalette(np.resize(colors, (256, 3)).ravel().tolist())
    return palette


def _changed(before: NDArray[np.uint8], after: NDArray[np.uint8]) -> tuple[int, int, int, int]:
    """Find the box of the pixels that differ; where none do, one pixel, to keep the time."""
    differs = before != after
    rows, columns = np.flatnonzero(differs.any(axis=1)), np.flatnonzero(differs.any(axis=0))
    if not len(rows):
        return (0, 0, 1, 1)
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1
