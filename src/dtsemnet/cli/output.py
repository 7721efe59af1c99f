"""What all verbs share: how they use the terminal, report errors and write files.

Results go to standard output, remarks and progress to standard error. With ``--json``
standard output holds one JSON value and nothing else. An error is one line that names
the way out. Only terminals get colours. A file is written whole or not at all, and an
existing one is replaced only with ``--force``.

Names come from tables and files that somebody else may have written. What people read has its control
characters escaped (:mod:`dtsemnet.names`); JSON escapes them in its own way, which keeps the data. What
programs read (CSV, exports) keeps them, unless it is written to a terminal.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import io
import json
import math
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.table import Table
from rich.text import Text

from dtsemnet.names import printable, printable_json, quoted, shown

__all__ = [
    "MOST_NAMES",
    "WIDTH",
    "ModelArgument",
    "TargetOption",
    "Tell",
    "check_columns",
    "check_output",
    "check_picture",
    "columns",
    "counted",
    "guarded",
    "interruptible",
    "listed",
    "may_replace",
    "number",
    "print_json",
    "put",
    "quoted",
    "remark",
    "require",
    "say",
    "size_of",
    "terminable",
    "working",
    "write_picture",
]

ModelArgument: TypeAlias = Annotated[Path, typer.Argument(help="Model file.", metavar="MODEL")]
TargetOption: TypeAlias = Annotated[
    str | None, typer.Option(help="Column with the true answers; by default that of fit.", metavar="COLUMN")
]

PICTURES = (".png", ".svg", ".pdf")
"""Endings of the pictures that can be written."""

WIDTH = 100
"""Longer lines are hard to read, however wide the terminal is."""

MOST_NAMES = 8
"""Names that are listed before the rest is counted."""

Tell: TypeAlias = Callable[..., None]
"""Is told how much of some work is done, and of how much: see :func:`working`."""

_shown_on: Console | None = None
"""The console that shows a bar, if one does."""


def guarded(run: Callable[..., None], *, debug: bool) -> Callable[..., None]:
    """Turn the errors of a verb into one line and an exit code; with ``debug`` they pass unchanged."""

    @functools.wraps(run)
    def guard(*args: Any, **options: Any) -> None:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _remark_warning
                run(*args, **options)
        except (typer.Exit, typer.BadParameter, BrokenPipeError):  # typer handles these
            raise
        except KeyboardInterrupt:
            _complain("interrupted; nothing was written.")
            raise typer.Exit(130) from None
        except Exception as error:
            if debug:
                raise
            _complain(*_words(error))
            raise typer.Exit(1) from None

    return guard


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise ``KeyboardInterrupt`` after a Ctrl-C, even if the code inside catches that exception.

    Training takes a Ctrl-C as "stop here and keep the best tree so far". That is right for a person at a prompt and
    wrong for a program that writes files or records: a tree that was cut short is no result. Only the main thread
    receives signals; in other threads this does nothing.

    Examples
    --------
    >>> import contextlib
    >>> try:
    ...     with interruptible(), contextlib.suppress(KeyboardInterrupt):
    ...         signal.raise_signal(signal.SIGINT)
    ... except KeyboardInterrupt:
    ...     print("interrupted")
    interrupted
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pressed = threading.Event()

    def interrupt(*_: object) -> None:
        pressed.set()
        raise _Interrupted

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    except _Interrupted:
        raise KeyboardInterrupt from None
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed.is_set():  # the code inside caught even that
        raise KeyboardInterrupt


@contextmanager
def terminable() -> Iterator[None]:
    """End by ``SystemExit(143)`` on SIGTERM, so that files being written are removed and locks given back.

    By default the signal ends a process on the spot. Only the main thread receives signals; in other threads this does
    nothing, and a handler that somebody else has set stays.

    Examples
    --------
    >>> with terminable():
    ...     signal.raise_signal(signal.SIGTERM)
    Traceback (most recent call last):
    SystemExit: 143
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return

    def terminate(*_: object) -> None:
        raise SystemExit(128 + signal.SIGTERM)

    signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextmanager
def working(text: str, *, after: float = 2.0) -> Iterator[Tell]:
    """Show on a terminal that work goes on, once it has taken some seconds.

    It gives a function that takes ``(done, total)``, and what is done if that changes: a bar then shows the time left.
    Work whose end cannot be told shows for how long it has gone on. A fit has a bar of its own.
    """
    global _shown_on
    if not sys.stderr.isatty() or _shown_on is not None:
        yield lambda done, total, what=text: None
        return
    console = _console(stderr=True)
    progress = Progress(SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeLeft(),
                        console=console, transient=True)  # fmt: skip
    task = progress.add_task(text, total=None)

    def tell(done: float, total: float, what: str = text) -> None:
        if what != progress.tasks[0].description:
            progress.reset(task, description=what, total=total)
        progress.update(task, completed=done, total=total)

    timer = threading.Timer(after, progress.start)
    timer.daemon = True
    timer.start()
    _shown_on = console  # what is said meanwhile is printed above the bar
    try:
        yield tell
    finally:
        _shown_on = None
        timer.cancel()
        timer.join()  # if it fires now, what it starts is stopped
        progress.stop()


class TimeLeft(ProgressColumn):
    """The time left, or the time taken where the end is not known."""

    def render(self, task: Task) -> Text:
        left = task.time_remaining if task.total else None
        seconds, word = (task.elapsed or 0.0, "so far") if left is None else (left, "left")
        return Text(f"{timedelta(seconds=round(seconds))} {word}", style="progress.remaining")


class _Interrupted(BaseException):
    """Not a KeyboardInterrupt, which training catches."""


def say(text: str = "", *, style: str = "") -> None:
    """Print a line for people; markup and control characters are not read, so names of columns are safe."""
    _console().print(_safe(text), style=style, soft_wrap=True)


def put(text: str) -> None:
    """Print what a program reads, as it is; on a terminal, with control characters escaped."""
    if sys.stdout.isatty():
        text = "\n".join(map(printable, text.split("\n")))
    sys.stdout.write(text if text.endswith("\n") else text + "\n")


def remark(text: str) -> None:
    """Print what a person should know, on standard error."""
    _console(stderr=True).print(f"[dim]note:[/] {_safe(text)}", soft_wrap=True)


def print_json(value: Any) -> None:
    """Print one JSON value; a number that is not finite becomes null."""
    print(printable_json(json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False)))


def columns(
    headings: Sequence[str], rows: Iterable[Sequence[str]], *, bold: int | None = None, words: bool = False
) -> None:
    """Print a table: the first column aligned left, the others right, or left if they hold ``words``."""
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    for j, heading in enumerate(headings):
        table.add_column(
            _safe(heading),
            justify="left" if words or j == 0 else "right",
            style="bold" if j == bold else None,
            overflow="fold",
        )
    for row in rows:
        table.add_row(*map(_safe, row))
    _console().print(table)


def check_columns(names: Iterable[str], known: Iterable[str], option: str, owner: str = "the table") -> None:
    """Refuse a name that is no column, and suggest one that is."""
    known = list(known)
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {quoted(near[0])}?" if near else f"there are {listed(known)}."
            raise ValueError(f"{option} {quoted(name)} is no column of {owner}; {hint}")


def check_output(path: Path | None, *, force: bool, what: str = "--out") -> None:
    """Refuse, before any work is done, a file that could not be written or must not be replaced."""
    if path is None:
        return
    if path.is_dir():
        raise IsADirectoryError(f"{what} {quoted(path)} is a folder; name a file in it.")
    if path.exists() and not path.is_file():
        raise OSError(f"{what} {quoted(path)} is a FIFO or a device, which a file cannot replace; name a file.")
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"{what} {quoted(path)} lies in a folder that does not exist; make it first: mkdir -p {path.parent}"
        )
    if path.exists() and not force:
        raise FileExistsError(f"{what} {quoted(path)} exists; add --force to replace it, or name another file.")


def may_replace(path: Path) -> bool:
    """Ask whether an existing file may be replaced, if a person is there to answer."""
    if not path.exists() or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    return bool(typer.confirm(f"{printable(path)} exists; replace it?", err=True))


def check_picture(path: Path | None, *, force: bool, what: str = "--out") -> None:
    """Refuse a picture that could not be written: see :func:`check_output`, and its ending must be known."""
    check_output(path, force=force, what=what)
    if path is not None and path.suffix.lower() not in PICTURES:
        raise typer.BadParameter(f"{what} must end in {', '.join(PICTURES)}, got {path.name!r}.")


def write_picture(figure: Any, path: Path, *, dpi: int = 150) -> None:
    """Write a matplotlib figure in the format that the ending of the file names."""
    from dtsemnet.files import write_atomically

    stream = io.BytesIO()
    figure.savefig(stream, format=path.suffix[1:].lower(), dpi=dpi, bbox_inches="tight")
    write_atomically(path, stream.getvalue())


def require(name: str, *, extra: str, verb: str) -> Any:
    """Import an optional package, or name the extra that installs it."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0]:
            raise
        raise ModuleNotFoundError(
            f"{verb} needs {name}, which is not installed; install it by: pip install 'dtsemnet[{extra}]'", name=name
        ) from None


def listed(names: Iterable[str]) -> str:
    """List the first names of many."""
    names = [shown(str(name)) for name in names]
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def counted(count: int, noun: str) -> str:
    """Write a count with its noun.

    Examples
    --------
    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def number(value: float | None) -> str:
    """Write a figure for people: about four significant digits, and no exponent if one can be avoided.

    Examples
    --------
    >>> number(0.97222), number(12345.678), number(None)
    ('0.9722', '12,346', '-')
    """
    if value is None or value != value:
        return "-"
    if abs(value) >= 1000:
        return f"{value:,.0f}" if abs(value) < 1e9 else f"{value:.4g}"
    return f"{value:.4g}" if abs(value) < 1e-4 and value else f"{value:.4f}" if abs(value) < 10 else f"{value:.2f}"


def size_of(path: Path) -> str:
    """Write the size of a file for people."""
    size = path.stat().st_size
    return (
        f"{size:,} bytes" if size < 10_000 else f"{size / 1000:,.0f} kB" if size < 10**7 else f"{size / 10**6:,.1f} MB"
    )


def _console(*, stderr: bool = False) -> Console:
    """Make a console; one for each line, as a test or a shell may have replaced the stream since the last one."""
    if stderr and _shown_on is not None:
        return _shown_on
    console = Console(stderr=stderr, highlight=False, emoji=False)  # a column may be called "a:x:b"
    console.width = min(console.width, WIDTH) if console.is_terminal else WIDTH
    return console


def _complain(text: str, hint: str = "") -> None:
    console = _console(stderr=True)
    console.print(f"[bold red]error:[/] {_safe(text)}", soft_wrap=True)
    if hint:
        console.print(f"[dim]{_safe(hint)}[/]", soft_wrap=True)


def _safe(text: str) -> str:
    """Escape control characters, line by line, and the markup of rich."""
    return escape("\n".join(map(printable, text.split("\n"))))


def _remark_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """Show a warning of the library as a remark; warnings meant for programmers are dropped."""
    if issubclass(category, UserWarning):
        remark(str(message))


def _words(error: Exception) -> tuple[str, str]:
    """Say what is wrong, and what to do if it is not the user's mistake."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}.", ""
    text = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, (ValueError, TypeError, OSError, ImportError, FloatingPointError, MemoryError)):
        return text, ""
    return f"{type(error).__name__}: {text}", "This error was not expected. Add --debug to see where it happened."


def _plain(value: Any) -> Any:
    """Convert values of numpy to those of Python."""
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return str(value) if isinstance(value, Path) else value
