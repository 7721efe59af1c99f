"""Compiled loops of the baselines."""
