"""Algorithms: ``LeanPPO``, ``LeanSAC`` and ``TopKSAC``, each in a file of its own, with compiled kernels beside it."""
