"""Damage many files and check that the law of their kind holds: ``make fuzz``.

    python tests/fuzz/campaign.py --seconds 600
    python tests/fuzz/campaign.py --kind "model file" --files 100000 --seed 0

A file that breaks a law is kept in ``inputs/``, named after its kind and its content; ``test_fuzz.py`` checks all files
there. Files that load join the seeds, so that damage piles up. Each file must be checked within a time and memory that
are proportional to its length: a file of n bytes in ``2 + 4e-6 n`` seconds of processor time, all within 2 GB.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import resource
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # run as a script, it has no test session around it

from fuzz.harnesses import HARNESSES

INPUTS = Path(__file__).parent / "inputs"
MOST_SEEDS = 400
MEMORY = 2 * 2**30


def run(kind: str, seed: int, n_files: int | None, seconds: float) -> int:
    """Check damaged files of one kind until a number of them or the time is reached; returns how many break the law."""
    harness = HARNESSES[kind]
    seeds, outcomes, n_broken = harness.seeds(), Counter[str](), 0
    rng, started, slowest = random.Random(seed), time.monotonic(), 0.0
    n_first = len(seeds)
    # In memory, if the system has such a folder: files that are saved are flushed to the disk, which takes long.
    memory_folder = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory_folder if memory_folder.is_dir() else None) as folder:
        path = Path(folder, f"file{harness.suffix}")
        while time.monotonic() - started < seconds and (n_files is None or outcomes.total() < n_files):
            data = harness.mutate(rng, seeds)
            path.write_bytes(data)
            begun = time.process_time()
            try:
                outcome = harness.check(path)
                used = time.process_time() - begun
                slowest = max(slowest, used)
                assert used < 2 + 4e-6 * len(data), f"a file of {len(data)} bytes took {used:.1f} s"
            except Exception:
                outcome, n_broken = "broken", n_broken + 1
                kept = INPUTS / f"{kind.replace(' ', '-')}-{hashlib.sha256(data).hexdigest()[:12]}{harness.suffix}"
                if n_broken <= 20:
                    kept.write_bytes(data)
                    print(f"{kept}\n{traceback.format_exc(limit=-3)}", file=sys.stderr)
            outcomes[outcome] += 1
            if harness.grows and outcome not in ("refused", "broken") and len(data) < 20_000 and rng.random() < 0.2:
                if len(seeds) < n_first + MOST_SEEDS:
                    seeds.append(data)
                else:
                    seeds[rng.randrange(n_first, len(seeds))] = data
    figures = ", ".join(f"{n:,} {word}" for word, n in sorted(outcomes.items()))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{kind}: {outcomes.total():,} files ({figures}), seed {seed}, slowest {slowest:.2f} s, {memory:.0f} MB in all"
    )
    return n_broken


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=[*HARNESSES], action="append", help="kind of files; all by default")
    parser.add_argument("--files", type=int, help="files of each kind; by default as many as the time allows")
    parser.add_argument("--seconds", type=float, default=600, help="time in all, most of it for model files")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**32)
    options = parser.parse_args()
    kinds = options.kind or [*HARNESSES]
    share = {kind: 6.0 if kind == "model file" else 1.0 for kind in kinds}
    # Beyond what the libraries themselves map: a file that needs more breaks the law of its kind.
    used = 4 * 2**30
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, resource.RLIM_INFINITY))
    broken = sum(
        run(kind, options.seed, options.files, options.seconds * share[kind] / sum(share.values())) for kind in kinds
    )
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
