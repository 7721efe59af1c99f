"""An exploration is one walk for several questions, and of no use to questions about anything else."""

from __future__ import annotations

import pytest

from dtsemnet.tree import Topology, Tree
from dtsemnet.verify import Domain, explore, largest_jump, never, output_bounds, possible_classes


def test_exploration_of_another_tree_or_domain_is_refused():
    tree, other = (Tree(Topology.complete(1), [[1.0]], [b], [[1, 0], [0, 1]], class_names=["a", "b"]) for b in (0, 1))
    domain = Domain(-1, 1)
    explored = explore(tree, domain)
    assert never(tree, domain, "a", explored=explored).status == "no"
    questions = [
        lambda *about: never(*about, "a", explored=explored),
        lambda *about: possible_classes(*about, explored=explored),
        lambda *about: output_bounds(*about, explored=explored),
        lambda *about: largest_jump(*about, output="a", explored=explored),
    ]
    for question in questions:
        for about in ((other, domain), (tree, Domain(-1, 1))):
            with pytest.raises(ValueError, match="explored must be of the same tree and domain"):
                question(*about)
