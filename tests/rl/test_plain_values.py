"""Plain values: what is written comes back, and nothing else can be written or read."""

from __future__ import annotations

import random
from collections import OrderedDict, defaultdict, deque

import numpy as np
import pytest
import torch

from dtsemnet.rl.plain_values import is_plain, read_values, write_values
from dtsemnet.training.archive import write_archive

VALUES = [
    None, True, 3, 2**127, -0.0, float("inf"), "tree", b"\x00\xff", b"", [], [1, [2.5]], (), (1, ("a", None)), {},
    {"a": 1, 2: (3,), None: [4]}, OrderedDict(b=1, a=2), deque([1, {"r": 2.0}], maxlen=5), random.Random(0).getstate(),
    {"tuple": 1, "array": 0},
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=lambda value: repr(value)[:30])
def test_what_is_written_comes_back(value, tmp_path):
    write_values(tmp_path / "file.npz", value)
    found = read_values(tmp_path / "file.npz")
    assert repr(found) == repr(value)
    assert type(found) is type(value)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool", "uint8", "U3"])
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)])
def test_arrays_and_scalars_come_back_bit_for_bit(dtype, shape, tmp_path):
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    values = [array, array.T, np.zeros(1, dtype)[0]]
    write_values(tmp_path / "file.npz", values)
    for found, value in zip(read_values(tmp_path / "file.npz"), values):
        assert (type(found), found.dtype, found.shape) == (type(value), value.dtype, value.shape)
        assert found.tobytes() == value.tobytes()


def test_tensors_come_back(tmp_path):
    tensor = torch.randn(3, 2, requires_grad=True)
    write_values(tmp_path / "file.npz", {"w": tensor})
    assert torch.equal(read_values(tmp_path / "file.npz")["w"], tensor)


@pytest.mark.parametrize(
    "value", [object(), np.array([None]), {1, 2}, defaultdict(list), print, np.random.default_rng(0), 1j],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_other_values_are_refused(value, tmp_path):
    assert not is_plain([value])
    with pytest.raises(TypeError, match="a checkpoint holds"):
        write_values(tmp_path / "file.npz", [value])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", [{"call": "os.system"}, {"array": 5}, {"array": 0, "b": 1}, {"dict": 3}, {}])
def test_a_file_that_asks_for_something_else_is_refused(text, tmp_path):
    write_archive(tmp_path / "file.npz", [text], {})
    with pytest.raises(ValueError, match=r"file\.npz cannot be read"):
        read_values(tmp_path / "file.npz")
