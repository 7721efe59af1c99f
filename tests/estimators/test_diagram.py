"""The diagram that a notebook shows of an estimator leads to its page in our documents."""

from __future__ import annotations

from pathlib import Path

import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr

from dtsemnet import DTSemNetClassifier, DTSemNetRegressor

CONF = Path(__file__).parents[2] / "docs" / "_ext" / "api_pages.py"


@pytest.mark.parametrize("estimator", [DTSemNetClassifier(), DTSemNetRegressor(max_depth=2)])
def test_a_diagram_links_to_the_page_of_the_estimator(estimator) -> None:
    page = f"https://dtsemnet.github.io/dtsemnet/api/generated/dtsemnet.{type(estimator).__name__}.html"
    assert page in estimator_html_repr(estimator)
    assert page in estimator_html_repr(make_pipeline(StandardScaler(), estimator))


@pytest.mark.skipif(not CONF.exists(), reason="the documents are not here")
def test_the_site_writes_such_pages() -> None:
    from api_pages import FOLDER, public_names

    assert FOLDER.parts[-2:] == ("api", "generated")
    assert {"dtsemnet.DTSemNetClassifier", "dtsemnet.DTSemNetRegressor"} <= {name.page for name in public_names()}
