"""Tables as they come: from a file of almost any kind to columns of numbers and categories.

:mod:`~dtsemnet.tables.files` reads a file into a data frame, :mod:`~dtsemnet.tables.numbers` and
:mod:`~dtsemnet.tables.dates` turn texts into numbers, and :mod:`~dtsemnet.tables.recipe` keeps how that was done, so
that the next table is read alike. The command line fits and predicts by it; its model files hold the recipe. Reading
needs pandas, which is imported when a table is read.
"""
