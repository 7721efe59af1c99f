"""The workshop of the paper: rival methods, the tables and figures of the experiments, and the runs behind them."""

__version__ = "0.1.0"
