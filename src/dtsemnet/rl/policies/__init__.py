"""Policies whose actor is a tree: ``ppo`` for discrete actions, ``sac`` for continuous ones."""
