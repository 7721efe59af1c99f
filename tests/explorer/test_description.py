"""Arrays come out of the page's JSON as they went in."""

from __future__ import annotations

import base64
import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dtsemnet.explorer.description import pack


def unpack(packed: dict) -> np.ndarray:
    numbers = np.frombuffer(base64.b64decode(packed["data"]), "<" + packed["type"]).astype(np.float64)
    if "place" in packed:
        full = np.zeros(math.prod(packed["shape"]))
        full[np.frombuffer(base64.b64decode(packed["place"]), "<u4")] = numbers
        numbers = full
    return numbers.reshape(packed["shape"])


ELEMENTS = st.one_of(
    st.just(0.0), st.integers(0, 255).map(float), st.floats(width=32, allow_nan=False), st.floats(allow_nan=False)
)


@given(hnp.arrays(np.float64, hnp.array_shapes(max_dims=3, max_side=6), elements=ELEMENTS, fill=st.just(0.0)))
def test_packing_is_exact(array):
    assert np.array_equal(unpack(pack(array)).view(np.uint64), array.view(np.uint64))


@given(hnp.arrays(np.float64, 20, elements=st.sampled_from([-0.0, 0.0, 1.0])))
def test_negative_zeros_survive(array):
    assert np.array_equal(np.signbit(unpack(pack(array))), np.signbit(array))


def test_missing_values_survive():
    assert np.array_equal(unpack(pack([1.0, np.nan])), [1.0, np.nan], equal_nan=True)


def test_the_smallest_type_is_chosen():
    assert [pack([x, 1.0])["type"] for x in (255.0, 256.0, 0.1)] == ["u1", "f4", "f8"]
