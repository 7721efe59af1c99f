"""How a tree is fitted, from the rows to the tree. Start reading in ``fit.py``.

- ``fit``: the course of a fit: rows set aside, starts trained and compared, the best trained on with all rows;
- ``tasks``: what classes and numbers do differently in it, and what another method must define;
- ``data``: the rows: merged, split, standardised;
- ``settings``: the options of a fit, the hyper-parameters of its starts, and the phases of their training;
- ``leaves``: what the leaves of a tree hold, computed from the rows that reach them.
"""
