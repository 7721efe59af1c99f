"""Training: engines that run one epoch, the loop around them, schedules, callbacks, checkpoints and history."""

from dtsemnet.training.callbacks import Callback, Context, ProgressBar, validation_error, validation_loss
from dtsemnet.training.checkpoint import Checkpoint
from dtsemnet.training.cpu import cpu_engine
from dtsemnet.training.engine import (
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
from dtsemnet.training.history import Epoch, History
from dtsemnet.training.loop import Training, train
from dtsemnet.training.phases import Phase, algorithm_1
from dtsemnet.training.schedules import Constant, Cosine, Decay, Geometric, Linear, Schedule, Steps

__all__ = [
    "ALL",
    "Callback",
    "Checkpoint",
    "Classification",
    "Constant",
    "Context",
    "Cosine",
    "Decay",
    "Engine",
    "Epoch",
    "Geometric",
    "Gradients",
    "History",
    "Linear",
    "Parameters",
    "Penalties",
    "Phase",
    "Problem",
    "ProgressBar",
    "Regression",
    "Rows",
    "Schedule",
    "Step",
    "Steps",
    "Training",
    "algorithm_1",
    "cpu_engine",
    "train",
    "validation_error",
    "validation_loss",
]
