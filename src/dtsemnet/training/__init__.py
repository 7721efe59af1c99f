"""Training: engines that train for one epoch, the loop around them, schedules, callbacks, checkpoints and history."""

from dtsemnet.training.callbacks import (
    Callback,
    Context,
    Epoch,
    History,
    ProgressBar,
    validation_error,
    validation_loss,
)
from dtsemnet.training.cpu import cpu_engine
from dtsemnet.training.engine import (
    ALL,
    ClassEngine,
    Classification,
    ClassParameters,
    Engine,
    Parameters,
    Penalties,
    Problem,
    Regression,
    RegressionParameters,
    Rows,
    Step,
    TreeEngine,
)
from dtsemnet.training.loop import Checkpoint, Training
from dtsemnet.training.schedules import Constant, Cosine, Decay, Geometric, Linear, Phase, Schedule, algorithm_1

__all__ = [
    "ALL",
    "Callback",
    "Checkpoint",
    "ClassEngine",
    "ClassParameters",
    "Classification",
    "Constant",
    "Context",
    "Cosine",
    "Decay",
    "Engine",
    "Epoch",
    "Geometric",
    "History",
    "Linear",
    "Parameters",
    "Penalties",
    "Phase",
    "Problem",
    "ProgressBar",
    "Regression",
    "RegressionParameters",
    "Rows",
    "Schedule",
    "Step",
    "Training",
    "TreeEngine",
    "algorithm_1",
    "cpu_engine",
    "validation_error",
    "validation_loss",
]
