"""Algorithms that train tree policies.

- ``lean_ppo``: ``LeanPPO``, the steps of PPO with gradients written out.
- ``lean_sac``: ``LeanSAC``, the steps of SAC with compiled critics (``sac_kernels``).
- ``topk_sac``: ``TopKSAC``, the paper's three phases, compiled as a whole (``topk_kernels``).
"""
