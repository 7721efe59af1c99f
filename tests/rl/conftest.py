"""One torch thread, since the networks are small and the tests share their cores; and no extensions."""

import pytest
import torch

from dtsemnet.rl import environments, recipes


@pytest.fixture(scope="package", autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def _no_extensions(monkeypatch):
    for module in (environments, recipes):
        monkeypatch.setattr(module, "extensions", lambda: ())
