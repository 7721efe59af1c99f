"""
A tour in a notebook
====================

What this library shows in Jupyter, VS Code and Colab: put an object on the last line of a cell. Run as a script, it
prints the short forms.
"""

# %%
# An estimator is shown by scikit-learn's diagram.
import numpy as np
from sklearn.datasets import load_wine

from dtsemnet import DTSemNetClassifier

wine = load_wine(as_frame=True)
X = wine.data[["alcohol", "flavanoids", "color_intensity", "proline"]]
y = np.array([f"cultivar {code + 1}" for code in range(3)])[wine.target]
classifier = DTSemNetClassifier(max_depth=2, effort=0, random_state=0).fit(X, y)
print(classifier)
classifier

# %%
# Its model draws itself. Rest the pointer on a split to read its question in full.
print(classifier.model_)
classifier.model_

# %%
# The history of a fit.
print(classifier.history_)
classifier.history_

# %%
# One prediction: why, and what would turn it.
from dtsemnet.export import explain

explanation = explain(classifier, X.iloc[100], background=X)
print(repr(explanation))
explanation

# %%
# An export, with what its check found. The text is folded away.
from dtsemnet.export import to_c

code = to_c(classifier, X, name="wine")
print(repr(code))
code

# %%
# Answers of the proofs.
from dtsemnet.verify import Domain, counterfactual, robustness

domain = Domain.from_data(X)
answer = robustness(classifier, X.iloc[100].to_numpy(), domain=domain)
print(answer)
answer

# %%
ways = counterfactual(classifier, X.iloc[100].to_numpy(), "cultivar 1", domain=domain, n=2)
print("found:", len(ways))
ways

# %%
# And the explorer, inside the page. Move a slider.
from dtsemnet.explorer import explore

page = explore(classifier, X, y, title="Wine: three cultivars")
print(repr(page).split(",")[0])
page
