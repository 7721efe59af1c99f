"""Run one epoch, twice: compiled loops on the CPU, or torch on any device, behind one protocol."""

from dtsemnet.engine.cpu import cpu_engine
from dtsemnet.engine.protocol import (
    ALL,
    Classification,
    Engine,
    Gradients,
    Parameters,
    Penalties,
    Problem,
    Regression,
    Rows,
    Step,
)

__all__ = [
    "ALL",
    "Classification",
    "Engine",
    "Gradients",
    "Parameters",
    "Penalties",
    "Problem",
    "Regression",
    "Rows",
    "Step",
    "cpu_engine",
]
