"""
Probabilities that mean what they say
=====================================

Of the rows to which a classifier gives a probability of 80 %, eight in ten should have the class. A single tree usually
fails at this: all rows of a leaf get the share of the leaf. Here the margins of the splits and the share of the leaf
are weighed, and calibrated on rows that the trees had not seen.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.datasets import make_classification
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from dtsemnet import DTSemNetClassifier

X, y = make_classification(4000, 8, n_informative=6, n_clusters_per_class=3, flip_y=0.08, random_state=1)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)

ours = DTSemNetClassifier(random_state=0).fit(X_train, y_train)
cart = DecisionTreeClassifier(min_samples_leaf=5, random_state=0).fit(X_train, y_train)
leaf_only = DTSemNetClassifier(probability="leaf", random_state=0).fit(X_train, y_train)

fig, ax = plt.subplots(figsize=(5, 4.6))
ax.plot([0, 1], [0, 1], color="#999999", linewidth=1)
for name, model, color in (
    ("margins and leaf (default)", ours, "#0072b2"),
    ("share of the leaf alone", leaf_only, "#e69f00"),
    ("CART, leaves of 5 rows or more", cart, "#d55e00"),
):
    chance = model.predict_proba(X_test)[:, 1]
    share, mean = calibration_curve(y_test, chance, n_bins=10, strategy="quantile")
    ax.plot(mean, share, marker="o", markersize=4, color=color, label=name)
    loss, brier = log_loss(y_test, chance), brier_score_loss(y_test, chance)
    print(f"{name:31}  log loss {loss:.3f}, Brier score {brier:.3f}, {len(np.unique(chance)):4d} different values")
ax.set(xlabel="probability", ylabel="share of rows that have the class", aspect="equal")
ax.legend(frameon=False, fontsize=8)
plt.show()
