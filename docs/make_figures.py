"""Draw the figures of the documentation: ``python docs/make_figures.py [name ...]`` writes ``docs/figures``.

Iris, diabetes and digits come with scikit-learn. Dry bean and MNIST are read from the folder named by ``DTSEMNET_DATA``
(``dry_bean.npz`` and ``mnist.npz`` with ``X``, ``y``, ``feature_names``, ``class_names`` and for MNIST ``test``); a set
that is not there is reported and its figures are skipped. MNIST takes two minutes, the others seconds.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from PIL import Image
from sklearn.datasets import load_diabetes, load_digits, load_iris

from dtsemnet import DTSemNetClassifier, DTSemNetRegressor
from dtsemnet.plot import plot_history, plot_importance, plot_leaves, plot_regions, plot_tree, plot_weights_image

FIGURES = Path(__file__).parent / "figures"
LARGEST = 200_000
"""Bytes that a figure may have."""

Drawn = Iterator[tuple[str, Axes]]


def iris() -> Drawn:
    """The first plots of the page."""
    data = load_iris(as_frame=True)
    X, y = data.data, data.target_names[data.target]
    classifier = DTSemNetClassifier(max_depth=2, random_state=0).fit(X, y)
    yield "iris_tree", plot_tree(classifier, X, y, x=X.iloc[[100]])
    yield "iris_regions", plot_regions(classifier, X, y, features=("petal length (cm)", "petal width (cm)"))
    yield "iris_leaves", plot_leaves(classifier, X, y)
    yield "iris_history", plot_history(classifier)
    yield "iris_importance", plot_importance(classifier)


def diabetes() -> Drawn:
    """A regression tree with linear leaves."""
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    regressor = DTSemNetRegressor(max_depth=2, random_state=0).fit(X, y)
    yield "diabetes_tree", plot_tree(regressor, X, y)
    yield "diabetes_regions", plot_regions(regressor, X, y, features=("bmi", "s5"))
    yield "diabetes_leaves", plot_leaves(regressor, X, y)
    yield "diabetes_history", plot_history(regressor)
    yield "diabetes_importance", plot_importance(regressor)


def digits() -> Drawn:
    """Small pictures."""
    X, y = load_digits(return_X_y=True)
    classifier = DTSemNetClassifier(max_depth=4, random_state=0).fit(X, y)
    yield "digits_weights", plot_weights_image(classifier, (8, 8), X=X)


def dry_bean() -> Drawn:
    """Sixteen columns, seven classes, depth 4."""
    data = read("dry_bean")
    X = pd.DataFrame(data["X"].astype(float), columns=data["feature_names"])
    y = data["class_names"][data["y"]]
    classifier = DTSemNetClassifier(max_depth=4, random_state=0).fit(X, y)
    yield "dry_bean_tree", plot_tree(classifier, X, y, x=X.iloc[[0]])
    yield "dry_bean_regions", plot_regions(classifier, X, y, projection="pca")
    yield "dry_bean_leaves", plot_leaves(classifier, X, y)
    yield "dry_bean_importance", plot_importance(classifier)
    yield "dry_bean_history", plot_history(classifier)


def mnist() -> Drawn:
    """784 pixels, ten classes, depth 8: one start and few epochs, for the picture."""
    data = read("mnist")
    X, y = data["X"][~data["test"]], data["y"][~data["test"]]
    options: dict[str, Any] = {"n_init": 1, "refit": False, "max_iter": 20}
    classifier = DTSemNetClassifier(max_depth=8, random_state=0, **options).fit(X, y)
    X, y = data["X"][data["test"]], data["y"][data["test"]]
    yield "mnist_tree", plot_tree(classifier, X, y, x=X[0], image_shape=(28, 28))
    yield "mnist_weights", plot_weights_image(classifier, (28, 28), X=X)
    yield "mnist_leaves", plot_leaves(classifier, X, y)
    yield "mnist_regions", plot_regions(classifier, X, y, projection="pca")
    yield "mnist_history", plot_history(classifier)
    yield "mnist_importance", plot_importance(classifier)


def read(name: str) -> dict[str, Any]:
    """Read a data set from the folder of data sets."""
    folder = os.environ.get("DTSEMNET_DATA")
    if folder is None:
        raise FileNotFoundError("DTSEMNET_DATA is not set")
    with np.load(Path(folder) / f"{name}.npz", allow_pickle=False) as archive:
        return dict(archive)


def save(name: str, ax: Axes) -> None:
    """Write a figure, at the finest of a few resolutions that keeps the file small."""
    path = FIGURES / f"{name}.png"
    for dpi in (130, 115, 100, 90, 80, 70):
        drawn = io.BytesIO()
        ax.figure.savefig(drawn, dpi=dpi)
        # 256 colours make the file a third as large; coverage, so that rare colours (those of classes) are kept.
        palette = Image.open(drawn).convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        palette.save(path, optimize=True)
        if path.stat().st_size < LARGEST:
            break
    print(f"{path.name}: {path.stat().st_size // 1000} kB at {dpi} dpi")
    plt.close("all")


def main(names: list[str]) -> None:
    """Draw the sets named, or all."""
    sets: list[Callable[[], Drawn]] = [iris, diabetes, digits, dry_bean, mnist]
    strange = set(names) - {each.__name__ for each in sets}
    if strange:
        sys.exit(f"no such set: {', '.join(strange)}; there are {', '.join(each.__name__ for each in sets)}")
    FIGURES.mkdir(exist_ok=True)
    for draw in sets:
        if not names or draw.__name__ in names:
            try:
                for name, ax in draw():
                    save(name, ax)
            except FileNotFoundError as error:
                print(f"{draw.__name__} is skipped: {error}")


if __name__ == "__main__":
    main(sys.argv[1:])
