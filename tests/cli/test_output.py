"""What verbs share: Ctrl-C ends what would go on by itself, and long work shows how long it will take."""

from __future__ import annotations

import io
import re
import signal
import time

import pytest
from rich.progress import Progress

from dtsemnet.cli.output import TimeLeft, interruptible, remark, say, working


def test_ctrl_c_ends_a_fit_that_would_go_on_by_itself() -> None:
    def fit() -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:  # what the training loop does
            return

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), interruptible():
        fit()
    assert signal.getsignal(signal.SIGINT) is before


def test_names_with_colons_stay_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    say("column a:x:b")
    remark("column a:x:b")
    assert capsys.readouterr() == ("column a:x:b\n", "note: column a:x:b\n")


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_long_work_shows_the_time_left_and_remarks_above_it(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with working("comparing", after=0) as tell:
        for done in range(4):
            tell(done, 4)
            time.sleep(0.02)
        tell(0, 4, "writing")
        remark("a cell is empty")
        time.sleep(0.15)
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue())
    assert re.search(r"comparing ━+[^\n]* \d:\d\d:\d\d (left|so far)", shown)
    assert "writing ━" in shown
    assert "note: a cell is empty\n" in shown


def test_without_a_terminal_nothing_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with working("comparing", after=0) as tell:
        tell(1, 2)
    assert capsys.readouterr() == ("", "")


def test_time_left_is_told_once_it_is_known() -> None:
    progress = Progress(disable=True)
    progress.add_task("comparing", total=None)
    assert TimeLeft().render(progress.tasks[0]).plain == "0:00:00 so far"
