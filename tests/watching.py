"""Estimators that are watched while they train, through the callbacks of their task."""

from dtsemnet.training import Callback


class Watch(Callback):
    """Counts epochs and the rows of each training; stops the fit by an error after a number of epochs, if given."""

    def __init__(self, stop_after=None, error=SystemExit):
        self.stop_after, self.error, self.n_rows, self.n_rows_by_epoch = stop_after, error, [], []

    def on_epoch(self, context):
        if len(self.n_rows_by_epoch) == self.stop_after:
            self.stop_after = None
            raise self.error  # before the checkpoint of this epoch is written
        self.n_rows_by_epoch.append(len(context.engine.rows.X))


def watched(estimator, watch):
    """The same estimator, whose trainings call the watch."""
    kind = type(estimator)

    class Task(kind._task_class):
        def callbacks(self, rows):
            watch.n_rows.append(len(rows.X))
            return [*super().callbacks(rows), watch]

    return type(kind.__name__, (kind,), {"_task_class": Task})(**estimator.get_params(deep=False))
