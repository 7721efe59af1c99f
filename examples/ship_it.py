"""
Ship a tree: C, SQL, ONNX
=========================

One tree as a C function for a controller, as an expression for a database, and as a graph for a service. Every export
is run against the tree, on both sides of every split, before it is handed over.
"""

import sqlite3

import numpy as np
from sklearn.datasets import load_wine

from dtsemnet import DTSemNetClassifier
from dtsemnet.export import to_c, to_onnx, to_sql

wine = load_wine(as_frame=True)
X = wine.data[["alcohol", "flavanoids", "color_intensity", "proline"]]
y = np.array([f"cultivar {code + 1}" for code in range(3)])[wine.target]
classifier = DTSemNetClassifier(max_depth=2, random_state=0).fit(X, y)

# %%
# **C99**, without malloc and without a library but ``exp``. The report counts the rows of the check.
code = to_c(classifier, X, name="wine")
print(code.report)
print("\n".join(line for line in code.text.splitlines() if "wine_predict" in line)[:400])

# %%
# **SQL**: one expression, to be put into any SELECT.
expression = to_sql(classifier, X, table="bottles")
with sqlite3.connect(":memory:") as database:
    X.to_sql("bottles", database, index=False)
    found = database.execute(f"SELECT {expression} AS cultivar, COUNT(*) FROM bottles GROUP BY cultivar").fetchall()
print(found)

# %%
# **ONNX**, for any runtime. It computes in float32, so rows within rounding of a split may take the other side: they
# are counted, never hidden.
graph = to_onnx(classifier, X)
print(repr(graph))
