"""
Start from a scikit-learn tree
==============================

Take a tree that scikit-learn grew, and let gradient descent tilt its splits. The start keeps the shape of that tree,
and the result is compared with the tree as it was on rows set aside: training that does not help is dropped.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from dtsemnet import DTSemNetClassifier, Tree
from dtsemnet.plot import plot_weights_image

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)

cart = DecisionTreeClassifier(max_leaf_nodes=16, random_state=0).fit(X_train, y_train)
axis_aligned = Tree.from_sklearn(cart)
same = (axis_aligned.predict(X_test) == cart.predict(X_test)).all()
print(f"CART                {axis_aligned}")
print(f"                    test accuracy {cart.score(X_test, y_test):.3f}, same predictions when converted: {same}")

tilted = DTSemNetClassifier(init=cart, random_state=0).fit(X_train, y_train)
print(f"trained from there  {tilted.tree_}")
print(f"                    test accuracy {tilted.score(X_test, y_test):.3f}")

fresh = DTSemNetClassifier(max_depth=4, effort=0, random_state=0).fit(X_train, y_train)
print(f"from random starts  {fresh.tree_}")
print(f"                    test accuracy {fresh.score(X_test, y_test):.3f}")

# %%
# The columns are pixels, so a split is a picture: blue pushes a digit to the right, red to the left.
plot_weights_image(tilted, (8, 8), X=X_train, splits=[0, 1, 2, 3])
plt.show()
