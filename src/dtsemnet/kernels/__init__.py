"""Compiled loops on plain arrays: routing, leaf logits, losses with their gradients, Adam. They know no Tree."""
