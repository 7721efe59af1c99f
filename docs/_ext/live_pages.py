"""The explorer's pages that the site embeds: trees fitted while the site is built, since pages are too large to
keep."""

from __future__ import annotations

from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "_build" / "live"


def write_pages(folder: Path) -> None:
    """Fit three trees and write their pages: ``live/wine.html``, ``live/diabetes.html``, ``live/digits.html``."""
    import numpy as np
    from sklearn.datasets import load_diabetes, load_digits, load_wine

    from dtsemnet import DTSemNetClassifier, DTSemNetRegressor
    from dtsemnet.explorer import to_html

    wine = load_wine(as_frame=True)
    cultivar = np.array([f"cultivar {code + 1}" for code in range(3)])[wine.target]
    columns = ["alcohol", "malic_acid", "flavanoids", "color_intensity", "hue", "proline"]
    X = wine.data[columns]
    tree: Any = DTSemNetClassifier(max_depth=2, effort=0, random_state=0).fit(X, cultivar)
    to_html(tree, folder / "wine.html", X, cultivar, title="Wine: three cultivars")

    diabetes = load_diabetes(as_frame=True, scaled=False)
    tree = DTSemNetRegressor(max_depth=2, effort=0, random_state=0).fit(diabetes.data, diabetes.target)
    to_html(tree, folder / "diabetes.html", diabetes.data, diabetes.target, title="Progression of diabetes")

    digits = load_digits()
    tree = DTSemNetClassifier(max_depth=5, effort=0, random_state=0).fit(digits.data, digits.target)
    to_html(
        tree, folder / "digits.html", digits.data, digits.target, title="Handwritten digits, 8 x 8 pixels",
        image_shape=(8, 8), max_rows=400,
    )  # fmt: skip


def setup(app: Any) -> dict[str, bool]:
    folder = FOLDER / "live"
    if not (folder / "digits.html").exists():
        folder.mkdir(parents=True, exist_ok=True)
        write_pages(folder)
    app.config.html_extra_path = [*app.config.html_extra_path, str(FOLDER)]
    return {"parallel_read_safe": True, "parallel_write_safe": True}
