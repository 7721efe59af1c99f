"""Ctrl-C ends what would go on by itself."""

from __future__ import annotations

import signal

import pytest

from dtsemnet.cli.output import interruptible, remark, say


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
