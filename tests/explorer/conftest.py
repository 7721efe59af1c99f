"""A real browser for the tests of the page, and helpers that several of them use."""

from __future__ import annotations

import json
import os
import shutil
import struct
from pathlib import Path

import pytest

SWITCHES = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --window-size=1280,800 --force-color-profile=srgb"
)


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """One Chromium for all tests of a process, which logs its console and its requests."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:  # a browser is no Python package; .ci/run installs one and forbids skips
        pytest.skip("needs chromium and chromedriver (Debian: chromium, chromium-driver)")
    webdriver = pytest.importorskip("selenium.webdriver", reason="only the development tools drive a browser")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for switch in [*SWITCHES.split(), f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"]:
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    session = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    resize(session, 1280, 800)
    yield session
    session.quit()


@pytest.fixture
def open_page(browser):
    """Open a page; after the test its console must be empty."""

    def open_(path: Path):
        browser.get_log("browser")
        browser.get(path.as_uri())
        return browser

    yield open_
    assert browser.get_log("browser") == []


@pytest.fixture
def keep(tmp_path):
    """Save a screenshot to the folder of artefacts."""
    folder = Path(os.environ.get("DTSEMNET_ARTEFACTS") or tmp_path / "artefacts")
    folder.mkdir(parents=True, exist_ok=True)

    def keep_(browser, name: str) -> Path:
        path = folder / f"explorer-{name}.png"
        assert browser.save_screenshot(str(path))
        return path

    return keep_


def resize(browser, width: int, height: int) -> None:
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500},
    )


def frame(browser) -> None:
    """Wait until the page is drawn again."""
    browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")


BITS = """
const view = new DataView(new ArrayBuffer(8));
const bits = (number) => { view.setFloat64(0, number); return view.getBigUint64(0).toString(16).padStart(16, "0"); };
const tell = (result) => (result.refused ? null
  : [result.leaf, result.path.map(({ split, score }) => [split, bits(score)]), result.output.map(bits)]);
const rows = JSON.parse(arguments[0]).map((row) => row.map((value) => (value === null ? NaN : value)));
"""


def bits(number: float) -> str:
    return struct.pack(">d", number).hex()


def as_json(rows) -> str:
    """Write rows for the page: NaN, a missing value, becomes null."""
    return json.dumps([[None if value != value else value for value in row] for row in rows])
