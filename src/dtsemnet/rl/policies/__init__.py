"""Policies whose actor is a tree.

- ``actors``: actors for discrete actions, from observations to the logits of the actions.
- ``ppo``: ``TreePolicy``, for discrete actions.
- ``sac``: ``TreeSACPolicy`` and its actor, for continuous actions.
"""
