"""Compiled loops over plain arrays: routing, leaf logits, losses with their gradients, Adam. They know no Tree.

``kernel`` compiles a function; ``exp`` and ``log`` are for use inside kernels;
``one_thread`` holds BLAS, which kernels call, to one thread.
"""

from dtsemnet.kernels.kernel import exp, kernel, log, one_thread

__all__ = ["exp", "kernel", "log", "one_thread"]
