"""One torch thread: the networks are small, and the tests share their cores."""

import pytest
import torch


@pytest.fixture(scope="package", autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
