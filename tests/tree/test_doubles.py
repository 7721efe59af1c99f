"""Ranks of doubles grow with the doubles, and lead back to them."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from dtsemnet.tree.doubles import double_at, rank_of

finite = st.floats(allow_nan=False, allow_infinity=False)


@given(finite)
def test_a_rank_leads_back_to_its_double(x):
    assert float(double_at(rank_of(x))) == x


@given(finite, finite)
def test_ranks_are_ordered_as_doubles_are(x, y):
    assert (rank_of(x) < rank_of(y)) == (x < y)


@given(finite)
def test_neighbours_have_neighbouring_ranks(x):
    assert int(rank_of(math.nextafter(x, math.inf))) == int(rank_of(x)) + 1
