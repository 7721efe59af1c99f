"""Search for bytes that break the law of model files, guided by the lines of the loader that they reach.

atheris (``pip install atheris``) keeps a file that reaches a new branch and damages it further; the mutator of this
folder keeps most of what it tries JSON. ``make fuzz`` runs this if atheris is installed:

    python tests/fuzz/atheris_model_file.py -max_total_time=600
"""

from __future__ import annotations

import importlib
import random
import sys
import tempfile
from pathlib import Path

import atheris  # type: ignore[import-not-found, unused-ignore]

sys.path.insert(0, str(Path(__file__).parents[1]))

# Before all else: numba cannot compile functions that are instrumented.
for kernels in ("routing", "logits", "classification", "regression", "optimizer", "rows"):
    importlib.import_module(f"dtsemnet.kernels.{kernels}")
with atheris.instrument_imports(include=["dtsemnet"]):
    from fuzz.harnesses import model_files
    from fuzz.laws import check_model_file
    from fuzz.mutate import mutate_bytes, mutate_file

SEEDS = model_files()
FOLDER = tempfile.TemporaryDirectory()
FILE = Path(FOLDER.name, "model.json")


def check(data: bytes) -> None:
    """Check the law; an exception is a finding."""
    FILE.write_bytes(data)
    check_model_file(FILE)


def mutate(data: bytes, max_size: int, seed: int) -> bytes:
    """Damage the structure if there is one, else the bytes."""
    rng = random.Random(seed)
    try:
        changed = mutate_file(rng, [data, data, data, rng.choice(SEEDS)])
    except (ValueError, RecursionError):  # no JSON
        changed = mutate_bytes(rng, data or b"{}", SEEDS)
    return changed[:max_size]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as corpus:
        for i, seed in enumerate(SEEDS):
            Path(corpus, str(i)).write_bytes(seed)
        # Crashers are written to inputs/, where test_fuzz.py finds them.
        inputs = Path(__file__).parent / "inputs"
        limits = ["-max_len=20000", "-timeout=20", "-rss_limit_mb=4096", f"-artifact_prefix={inputs}/model-file-"]
        atheris.Setup([sys.argv[0], *limits, *sys.argv[1:], corpus], check, custom_mutator=mutate)
        atheris.Fuzz()
