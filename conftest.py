"""Hypothesis profile, what tests need of the system, and skips that fail where everything is meant to be installed."""

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

# scikit-learn's checks of array API input run only where scipy was told so before its import.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

# A script that starts tests in the background lets them ignore Ctrl-C, which some of them send to themselves.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Repeatable draws, no deadline: the first call of a kernel compiles it.
settings.register_profile(
    "dtsemnet",
    deadline=None,
    derandomize=True,
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("dtsemnet")


@pytest.fixture(scope="session", autouse=True)
def _folder_for_logs_of_agents(tmp_path_factory):
    """Otherwise every agent that learns leaves an empty folder among the temporary files of the system."""
    os.environ["SB3_LOGDIR"] = str(tmp_path_factory.mktemp("logs"))


REQUIRE_ALL = bool(os.environ.get("DTSEMNET_REQUIRE_ALL"))


def _refuse_skip(report):
    """Fail what was skipped where all is meant to be there: a skip in CI would hide a missing program."""
    if REQUIRE_ALL and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped although DTSEMNET_REQUIRE_ALL is set: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    return _refuse_skip((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    return _refuse_skip((yield))
