"""Run DTSemNet on TabArena: the default and some random settings, in TabArena's own bags, folds and caches.

    pip install "dtsemnet[data]" tabarena
    cd benchmarks/tabarena && python run.py --settings 25 --out runs

It downloads the data sets of TabArena from OpenML and takes days; ``--settings 0`` runs the default alone. What it
writes is read by TabArena's own evaluation, which puts it beside the published methods.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tabarena_model import DTSemNetModel, search_space


def main() -> None:
    """Describe the experiments, and run them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--settings", type=int, default=25, help="random settings beside the default (default: 25)")
    parser.add_argument("--out", type=Path, default=Path("runs"), help="folder of results (default: runs)")
    options = parser.parse_args()
    from tabarena.benchmark.experiment import TabArenaV0pt1ExperimentBundle
    from tabarena.contexts import TabArenaContext
    from tabarena.utils.config_utils import ConfigGenerator

    generator = ConfigGenerator(model_cls=DTSemNetModel, search_space=search_space(), manual_configs=[{}])
    experiments = TabArenaV0pt1ExperimentBundle(models=[(generator, options.settings)]).build_experiments()
    context = TabArenaContext()
    context.run_jobs(context.build_jobs(experiments), expname=str(options.out))


if __name__ == "__main__":
    main()
