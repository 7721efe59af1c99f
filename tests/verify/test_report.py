"""The audit file says what the functions say."""

from __future__ import annotations

import numpy as np

from dtsemnet.tree import Topology, Tree
from dtsemnet.verify import Domain, audit, certify


def test_report_lists_every_leaf_output_and_share():
    tree = Tree(
        Topology.complete(2), [[1, 1], [1, 2], [2, 1]], [0, -9, 0], [[1, 0], [0, 1], [0, 1], [1, 0]],
        class_names=["a", "b"], feature_names=["height", "width"],
    )  # fmt: skip
    X, y = np.array([[-0.5, -0.5], [0.5, 0.5]]), ["a", "a"]
    text = audit(tree, Domain(-1, 1), X, y, epsilon=[0.1, 0.9]).to_markdown()
    assert "height in [-1, 1]; width in [-1, 1]" in text
    assert "| 1 | unreachable | a half-space lies outside the box |" in text
    assert text.count("| reachable |") == 3
    assert f"- {certify(tree, X, 0.9, y=y)}" in text
    assert "Certificates hold in rational arithmetic: True" in text
