"""Make the screenshots of docs/explorer.md: fit trees, write their pages, take screenshots in headless Chromium.

    python docs/make_explorer_figures.py [--models FOLDER]

Dry beans and digits are read from the folder that DTSEMNET_DATA names. If FOLDER holds fitted estimators,
``dry_bean4.json`` and ``mnist8.json``, these are used; otherwise they are fitted (digits take a few minutes).
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from selenium import webdriver
from sklearn.datasets import load_diabetes, load_iris

from dtsemnet import DTSemNetClassifier, DTSemNetRegressor
from dtsemnet.explorer import to_html

FIGURES = Path(__file__).parent / "figures"

# Page, figure, width, and the script to run on the page before the screenshot.
SHOTS = [
    ("iris", "explorer-iris", 1280, ""),
    ("dry_bean", "explorer-dry-bean", 1280, "explorer.choose(0);"),
    ("dry_bean", "explorer-dry-bean-dark", 1280, "document.getElementById('theme').click(); explorer.choose(0);"),
    ("dry_bean", "explorer-phone", 390, ""),
    ("mnist", "explorer-mnist", 1280, ""),
    ("mnist", "explorer-mnist-leaf", 1280, "explorer.choose(~explorer.state.result.leaf, true);"),
    ("diabetes", "explorer-regression", 1280, "explorer.choose(~explorer.state.result.leaf);"),
]


def main() -> None:
    """Write the pages into a temporary folder, and the figures into the folder of the documents."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, default=None, help="folder with fitted estimators")
    models = parser.parse_args().models
    with tempfile.TemporaryDirectory() as folder:
        pages = Path(folder)
        write_small_pages(pages)
        write_dry_bean(pages, models)
        write_mnist(pages, models)
        take_screenshots(pages)


def write_small_pages(pages: Path) -> None:
    """Write the pages of data sets that come with scikit-learn."""
    iris, diabetes = load_iris(as_frame=True), load_diabetes(as_frame=True, scaled=False)
    y = iris.target_names[iris.target]
    to_html(
        DTSemNetClassifier(max_depth=2, random_state=0).fit(iris.data, y),
        pages / "iris.html",
        iris.data,
        y,
        title="Iris",
    )
    regressor = DTSemNetRegressor(max_depth=3, random_state=0).fit(diabetes.data, diabetes.target)
    to_html(regressor, pages / "diabetes.html", diabetes.data, diabetes.target, title="Progression of diabetes")


def write_dry_bean(pages: Path, models: Path | None) -> None:
    """Write the page of a tree of depth 4 for the dry beans."""
    data = load("dry_bean")
    X, y = pd.DataFrame(data["X"], columns=data["feature_names"].tolist()), data["class_names"][data["y"]]
    tree = fitted(models, "dry_bean4.json", 4, X, y)
    to_html(tree, pages / "dry_bean.html", X, y, title="Dry beans, depth 4")


def write_mnist(pages: Path, models: Path | None) -> None:
    """Write the page of a tree of depth 8 for the digits, with the official test rows."""
    data = load("mnist")
    test = data["test"]
    tree = fitted(models, "mnist8.json", 8, data["X"][~test], data["y"][~test])
    to_html(
        tree, pages / "mnist.html", data["X"][test], data["y"][test], title="Handwritten digits, depth 8",
        image_shape=(28, 28),
    )  # fmt: skip


def load(name: str) -> dict[str, Any]:
    """Read a data set."""
    with np.load(Path(os.environ["DTSEMNET_DATA"]) / f"{name}.npz", allow_pickle=False) as archive:
        return dict(archive)


def fitted(models: Path | None, name: str, depth: int, X: Any, y: Any) -> DTSemNetClassifier:
    """Load a fitted estimator, or fit one."""
    if models is not None and (models / name).exists():
        return DTSemNetClassifier.load(models / name)
    return DTSemNetClassifier(max_depth=depth, random_state=0).fit(X, y)


def take_screenshots(pages: Path) -> None:
    """Take the screenshots."""
    options = webdriver.ChromeOptions()
    switches = "--headless=new --no-sandbox --disable-gpu --disable-background-networking --force-color-profile=srgb"
    for switch in [*switches.split(), f"--user-data-dir={pages / 'profile'}"]:
        options.add_argument(switch)
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        for page, figure, width, action in SHOTS:
            size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            browser.get((pages / f"{page}.html").as_uri())
            browser.execute_script(action)
            browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
            browser.save_screenshot(str(FIGURES / f"{figure}.png"))
    finally:
        browser.quit()


if __name__ == "__main__":
    main()
