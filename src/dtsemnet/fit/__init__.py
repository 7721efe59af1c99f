"""How a tree is fitted: `fit` is the course of a fit, `tasks` what classes and numbers do differently in it."""
