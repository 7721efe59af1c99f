"""Claims are printed outwards, witnesses in full."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dtsemnet.tree import Topology, Tree
from dtsemnet.verify import Domain, never, output_bounds
from dtsemnet.verify.proof.wording import end_text, row_text, value_text
from dtsemnet.verify.questions.audit import audit

numbers = st.floats(allow_nan=False, allow_infinity=False)


@given(number=numbers)
def test_ends_are_rounded_outwards(number):
    assert float(end_text(number, up=False)) <= number <= float(end_text(number, up=True))


@given(number=numbers)
def test_values_read_back_as_they_are(number):
    assert float(value_text(number)) == number


def test_a_leaf_of_a_little_more_than_two_is_not_printed_as_two():
    tree = Tree(Topology.complete(1), [[1.0]], [0.0], [[0.0], [2.0000001]])
    assert str(output_bounds(tree, Domain(-1, 1))[0]).endswith("never outside [0, 2.00001]")
    assert "[0, 2.00001]" in audit(tree, Domain(-1, 1)).to_markdown()


def test_a_witness_that_is_printed_can_be_replayed():
    tree = Tree(Topology.complete(1), [[1.0, 1.0]], [-1.9999999], [[1, 0], [0, 1]], class_names=["a", "b"])
    domain = Domain(0, 1, A=[[1.0, 0.5]], b=[1.5])
    witness = never(tree, domain, "b").witness
    text = row_text(audit(tree, domain).model, witness)
    row = [float(part.split(" = ")[1]) for part in text.split(", ")]
    assert np.array_equal(row, witness)
    assert tree.predict([row])[0] == "b"
    assert "1 * x0 + 0.5 * x1 <= 1.5" in audit(tree, domain).to_markdown()
