"""
Categories and missing values
=============================

Fit a pandas table with numbers, categories, strings and missing values as it is: categories become 0/1 features inside
the model, missing values a feature of their own, and the tree is shown in terms of the table's columns.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from dtsemnet import DTSemNetClassifier
from dtsemnet.export import to_text
from dtsemnet.plot import plot_tree

rng = np.random.default_rng(0)
n = 1000
table = pd.DataFrame(
    {
        "age": rng.integers(18, 80, n),
        "visits": rng.poisson(4, n).astype(float),
        "plan": pd.Categorical(rng.choice(["basic", "plus", "family"], n)),
        "city": rng.choice(["Bergen", "Oslo"], n),
    }
)
table.loc[rng.random(n) < 0.2, "visits"] = np.nan
# Frequent visitors and families stay, older customers less; visits that nobody counted were many.
worth = 0.8 * table["visits"].fillna(9) + 2.0 * (table["plan"] == "family") - 0.05 * table["age"]
stays = np.where(worth + rng.normal(0, 0.3, n) > 1.0, "stays", "leaves")

train, test = table[:700], table[700:]
classifier = DTSemNetClassifier(max_depth=1, random_state=0).fit(train, stays[:700])
print(f"test accuracy {classifier.score(test, stays[700:]):.3f}\n")
print(to_text(classifier, train, digits=2))

# %%
plot_tree(classifier, train, stays[:700])
plt.show()

# %%
# What each column becomes, and its share in the decisions.
for column, share in zip(classifier.model_.encoder.columns, classifier.feature_importances_):
    print(f"{share:.2f}  {column.name}: {', '.join(column.feature_names)}")

# %%
# A category that training has not seen counts as none of those it has.
stranger = pd.DataFrame({"age": [30], "visits": [np.nan], "plan": ["student"], "city": ["Oslo"]})
print(f"a plan never seen before, visits unknown: {classifier.predict(stranger)[0]}")
