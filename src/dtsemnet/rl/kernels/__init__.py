"""Compiled loops of the agents: small networks, tree policies, the steps of SAC."""
