"""Ctrl-C sets an event, then raises; what a fit makes of it is in tests/faults/test_interrupts.py."""

import signal
import threading

import pytest

from dtsemnet.training.interrupts import heed_interrupts


@pytest.fixture(autouse=True)
def _ordinary_handler():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_the_first_sets_the_event_and_the_second_raises():
    with heed_interrupts() as interrupted:
        assert not interrupted.is_set()
        signal.raise_signal(signal.SIGINT)
        assert interrupted.is_set()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_of_somebody_else_stays():
    seen = []
    signal.signal(signal.SIGINT, lambda *_: seen.append(1))
    with heed_interrupts() as interrupted:
        signal.raise_signal(signal.SIGINT)
    assert (seen, interrupted.is_set()) == ([1], False)


def test_a_fit_inside_a_fit_leaves_the_handler_to_the_outer_one():
    with heed_interrupts() as outer:
        with heed_interrupts() as inner:
            signal.raise_signal(signal.SIGINT)
        assert (outer.is_set(), inner.is_set()) == (True, False)


def test_another_thread_is_not_interrupted():
    def work():
        with heed_interrupts() as interrupted:
            found.append(interrupted)

    found = []
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert not found[0].is_set()
