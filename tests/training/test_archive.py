"""The file of a checkpoint: what is written comes back, and anything else is one error that names it."""

import io
import pickle
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from dtsemnet.training.archive import read_archive, write_archive


def whole(folder):
    path = folder / "run.npz"
    write_archive(path, {"epoch": 3}, {"state/w": np.arange(400.0), "best/w": np.zeros((0, 2))})
    return path


def test_what_is_written_comes_back(tmp_path):
    text, arrays = read_archive(whole(tmp_path / "deep"))
    assert text == {"epoch": 3}
    assert_array_equal(arrays["state/w"], np.arange(400.0))
    assert arrays["best/w"].shape == (0, 2)


@pytest.mark.parametrize("share", [0, 0.01, 0.3, 0.7, 0.99])
def test_an_empty_or_torn_file_is_one_error_that_names_the_way_out(share, tmp_path):
    path = whole(tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError, match=r"checkpoint .*run\.npz cannot be read .*Delete it to start anew"):
        read_archive(path)


@pytest.mark.parametrize("seed", range(20))
def test_a_flipped_bit_is_found_or_harmless(seed, tmp_path):
    path, rng = whole(tmp_path), np.random.default_rng(seed)
    content = bytearray(path.read_bytes())
    content[rng.integers(len(content))] ^= 1 << rng.integers(8)
    path.write_bytes(content)
    try:
        text, arrays = read_archive(path)
    except ValueError as error:
        assert "cannot be read" in str(error)  # noqa: PT017 - or it was in a date, which nobody reads
    else:
        assert text == {"epoch": 3}
        assert_array_equal(arrays["state/w"], np.arange(400.0))


def other_files():
    array = io.BytesIO()
    np.save(array, np.zeros(3))
    objects = io.BytesIO()
    np.savez(objects, text=np.array([object()]))
    empty = io.BytesIO()
    zipfile.ZipFile(empty, "w").close()
    return {
        "text": b"hello", "pickle": pickle.dumps({"run": 1}), "array": array.getvalue(), "objects": objects.getvalue(),
        "empty archive": empty.getvalue(),
    }  # fmt: skip


@pytest.mark.parametrize("content", other_files().values(), ids=other_files())
def test_another_file_is_refused(content, tmp_path):
    path = tmp_path / "run.npz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"run\.npz cannot be read"):
        read_archive(path)


@pytest.mark.parametrize("text", ["a" * 3, ["{}"], [[1.0]], "{"], ids=str)
def test_a_text_that_is_no_json_is_refused(text, tmp_path):
    with (tmp_path / "run.npz").open("wb") as stream:
        np.savez(stream, text=np.array(text))
    with pytest.raises(ValueError, match=r"run\.npz cannot be read"):
        read_archive(tmp_path / "run.npz")


def test_letters_beyond_unicode_are_refused_before_python_has_a_broken_text(tmp_path):
    letters = np.array([ord(letter) for letter in '{"a":1}'], np.uint32)
    for number in (0x110000, 2**32 - 1):
        letters[2] = number
        with (tmp_path / "run.npz").open("wb") as stream:
            np.savez(stream, text=letters.view("U7").reshape(()))
        with pytest.raises(ValueError, match=r"run\.npz cannot be read"):
            read_archive(tmp_path / "run.npz")


def test_texts_of_either_order_of_bytes_are_read(tmp_path):
    for dtype in ("<U9", ">U9"):
        with (tmp_path / "run.npz").open("wb") as stream:
            np.savez(stream, text=np.array('{"a": 1}', dtype))
        assert read_archive(tmp_path / "run.npz") == ({"a": 1}, {})


def test_a_member_that_is_no_array_is_refused(tmp_path):
    with zipfile.ZipFile(whole(tmp_path), "a") as archive:
        archive.writestr("state/v.npy", b"no array")
    with pytest.raises(ValueError, match="is no array"):
        read_archive(tmp_path / "run.npz")
