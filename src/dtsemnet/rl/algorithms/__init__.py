"""Algorithms that train tree policies, with the kernels of those for continuous actions."""
