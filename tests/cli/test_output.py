"""Ctrl-C ends what would go on by itself."""

from __future__ import annotations

import signal

import pytest

from dtsemnet.cli.output import interruptible


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
