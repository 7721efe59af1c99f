"""A page of several trees: the slider moves along the path, and every tree answers as it does by itself."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from selenium.webdriver import Keys
from selenium.webdriver.common.by import By

from dtsemnet.explorer import explore, to_html
from dtsemnet.explorer.tree_path import OWN, TreePath
from dtsemnet.tree import Column, Encoder, Model, Topology, Tree
from dtsemnet.verify import Domain, audit

NAMES = {"feature_names": ["length", "width"], "class_names": ["short", "long"]}
DENSE = Tree(
    Topology([[1, 2], [-1, -2], [-3, -4]]), [[1.0, -0.5], [1.0, 1.0], [0.5, -1.0]], [-1.0, 0.0, 2.0],
    [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]], **NAMES,
)  # fmt: skip
SPARSE = Tree(Topology.complete(1), [[1.0, 0.0]], [-1.0], [[1.0, 0.0], [0.0, 1.0]], **NAMES)
ROWS = np.array([[0.0, -1.0], [0.5, 0.5], [3.0, 5.0], [3.0, 1.0]])
LABELS = np.array(["short", "long", "long", "long"])


@dataclass(frozen=True)
class Path:
    limit: Any = (None, 1)
    n_columns: Any = (2.0, 1.0)
    n_leaves: Any = (4, 2)
    score: Any = (0.95, float("nan"))
    chosen: int = 0
    estimators: Any = (DENSE, SPARSE)


def test_the_description_holds_every_tree_and_the_shared_parts_once():
    assert isinstance(Path(), TreePath)
    page = explore(Path(), ROWS, LABELS, title="path")
    assert page.html.count('"columns":[{') == 1
    one = len(explore(DENSE, ROWS, LABELS).html)
    assert len(page.html) - one < 5000
    assert page.html.count('"children":[') == 3, "the one that is shown first, and both of the path"
    assert {"weight", "coef", "leaves", "reading"} <= set(OWN)


def test_trees_of_other_columns_and_proofs_are_refused():
    other = Model(Encoder([Column("length"), Column("height")]), SPARSE)
    with pytest.raises(ValueError, match="limit 1 reads its columns in another way"):
        explore(replace(Path(), estimators=(DENSE, other)))
    proofs = audit(DENSE, Domain(0.0, 1.0))
    with pytest.raises(ValueError, match="proofs are about one tree"):
        explore(Path(), proofs=proofs)


def test_the_slider_moves_along_the_path_by_keys_and_clicks(tmp_path, open_page, keep):
    browser = open_page(to_html(Path(), tmp_path / "path.html", ROWS, LABELS))
    slider = browser.find_element(By.ID, "along")
    assert browser.find_element(By.ID, "sparsity").is_displayed()

    def answers():
        script = "return arguments[0].map((row) => explorer.evaluate(row).leaf)"
        return browser.execute_script(script, ROWS.tolist())

    assert_array_equal(answers(), DENSE.apply(ROWS))
    assert "4 leaves" in browser.find_element(By.ID, "summary").text
    assert slider.get_attribute("aria-valuetext").startswith(
        "no limit on columns, 2 on average, 4 leaves, accuracy 95 %"
    )
    browser.execute_script("explorer.choose(2)")
    slider.send_keys(Keys.RIGHT)
    assert_array_equal(answers(), SPARSE.apply(ROWS))
    assert browser.execute_script("return explorer.state.chosen") is None
    assert "reads 1 of 2 columns" in browser.find_element(By.ID, "summary").text
    assert slider.get_attribute("aria-valuetext").startswith("at most 1 column a split")
    items = browser.find_elements(By.CSS_SELECTOR, "#tree [role=treeitem]")
    assert len(items) == 3, "the outline for screen readers shows the other tree too"
    assert browser.find_element(By.ID, "along-says").text == "1 column to read"
    keep(browser, "path")
    browser.find_elements(By.CSS_SELECTOR, "#sparsity .tick")[0].click()
    assert_array_equal(answers(), DENSE.apply(ROWS))
    assert slider.get_attribute("value") == "0"
    assert browser.switch_to.active_element == slider


def test_a_page_of_one_tree_has_no_slider(tmp_path, open_page):
    browser = open_page(to_html(DENSE, tmp_path / "one.html"))
    assert not browser.find_element(By.ID, "sparsity").is_displayed()
