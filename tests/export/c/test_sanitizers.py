"""A sample of ``make sanitize``: compiled with sanitizers, the C file commits no fault and answers as the tree does."""

from __future__ import annotations

import shutil

import pytest

from campaign import LEVELS, models, sanitized
from dtsemnet.export import check_export, to_c

KINDS = dict(models(seed=1))


@pytest.mark.parametrize(
    ("kind", "number", "command"),
    [
        ("mixed margin", "double", "gcc"), ("mixed filled", "float", "clang"), ("sparse", "double", "clang"),
        ("wild", "double", "gcc"),
    ],
)  # fmt: skip
def test_programs_with_sanitizers_agree(kind, number, command):
    if shutil.which(command) is None:
        pytest.skip(f"needs {command}")
    model = KINDS[kind]
    level = LEVELS[sorted(KINDS).index(kind) % len(LEVELS)]
    artefact = sanitized(model, to_c(model, number=number), command, level, number)
    assert check_export(model, artefact, n_rows=300).n_rows > 100
