"""Hard oblique decision trees trained by plain gradient descent, with no approximation."""

__version__ = "0.1.0.dev0"
