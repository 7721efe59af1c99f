"""Policies whose actor is a tree: ``ppo`` with ``actors`` for discrete actions, ``sac`` for continuous ones."""
