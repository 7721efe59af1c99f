"""How a tree is fitted: rows, settings, starts, leaves, and the course of one fit."""
