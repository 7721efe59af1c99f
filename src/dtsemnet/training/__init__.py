"""The training loop and what it is made of: schedules, phases, callbacks, checkpoints, history."""

from dtsemnet.training.callbacks import Callback, Context, ProgressBar, validation_error, validation_loss
from dtsemnet.training.checkpoint import Checkpoint
from dtsemnet.training.history import Epoch, History
from dtsemnet.training.loop import Training, train
from dtsemnet.training.phases import Phase, algorithm_1
from dtsemnet.training.schedules import Constant, Cosine, Decay, Geometric, Linear, Schedule, Steps

__all__ = [
    "Training",
    "train",
    "Phase",
    "algorithm_1",
    "Callback",
    "Checkpoint",
    "Constant",
    "Context",
    "Cosine",
    "Decay",
    "Epoch",
    "Geometric",
    "History",
    "Linear",
    "ProgressBar",
    "Schedule",
    "Steps",
    "validation_error",
    "validation_loss",
]
