"""``dtsemnet verify`` in the language of network verification: answer a property, or write a family of instances.

A family is a folder as the competitions of verifiers (VNN-COMP) read it: ``onnx`` with the network that the tree is,
``vnnlib`` with one property per question, and ``instances.csv``, which pairs them and gives each its seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dtsemnet.cli.output import counted, print_json, quoted, remark, say, size_of

if TYPE_CHECKING:  # imported when the verb runs, so that other verbs start fast
    from dtsemnet.tree import Model
    from dtsemnet.verify import Domain

__all__ = ["answer", "check_folder", "write_instances"]


def answer(model: Model, path: Path, *, time_limit: float, out: Path | None, as_json: bool) -> None:
    """Answer a property: print sat with the input, unsat or unknown."""
    from dtsemnet.files import write_atomically
    from dtsemnet.verify.vnnlib import answer_vnnlib, read_vnnlib

    if not path.is_file():
        raise FileNotFoundError(f"--vnnlib {quoted(path)} is no file; name a property in VNN-LIB.")
    found = answer_vnnlib(model, read_vnnlib(path), time_limit=time_limit)
    text = found.to_text() + "\n"
    if out is not None:
        write_atomically(out, text)
    if as_json:
        print_json({"answer": found.status, "x": found.x, "y": found.y, "programs": found.n_programs})
    elif out is None:
        say(text.rstrip("\n"))
    else:
        say(found.status)
        say(f"Answer written to {out} ({size_of(out)}).")


def check_folder(folder: Path, *, force: bool) -> None:
    """Refuse, before any work is done, a folder that holds something else."""
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"--instances {quoted(folder)} is a file; name a folder.")
    if folder.is_dir() and any(folder.iterdir()) and not force:
        raise FileExistsError(f"--instances {quoted(folder)} is not empty; add --force, or name another folder.")


def write_instances(
    model: Model,
    folder: Path,
    *,
    name: str,
    domain: Domain,
    rows: Any,
    epsilon: Sequence[float],
    never: Sequence[Any],
    time_limit: float,
) -> None:
    """Write the network, one property for each row and distance and for each class, and their list."""
    from dtsemnet.export import to_onnx
    from dtsemnet.files import write_atomically
    from dtsemnet.verify.vnnlib import never_vnnlib, robustness_vnnlib

    questions: dict[str, str] = {}
    for k, label in enumerate(never):
        questions[f"never_{k}"] = never_vnnlib(model, domain, label)
    for distance in epsilon:
        for i in range(0 if rows is None else len(rows)):
            questions[f"row_{i}_within_{distance:g}"] = robustness_vnnlib(model, rows.iloc[i], distance, domain=domain)
    if not questions:
        raise ValueError("--instances needs questions; add --epsilon X with --data FILE, or --never CLASS.")
    network = to_onnx(model, form="class network")
    for part in ("onnx", "vnnlib"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    onnx = folder / "onnx" / f"{name}.onnx"
    write_atomically(onnx, network.content)
    lines = []
    for title, text in questions.items():
        path = folder / "vnnlib" / f"{title}.vnnlib"
        write_atomically(path, text)
        lines.append(f"{onnx.relative_to(folder)},{path.relative_to(folder)},{time_limit:g}\n")
    write_atomically(folder / "instances.csv", "".join(lines))
    say(f"{counted(len(questions), 'instance')} written to {folder}.")
    remark("the network has numbers of 32 bits, which may decide inputs near a hyperplane otherwise than the tree.")
