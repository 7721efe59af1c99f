"""The order of the gallery: from the first fit to the last proof; a new example comes last until it gets a place."""

from __future__ import annotations

ORDER = (
    *("classification", "regression", "mixed_table", "oblique_splits", "notebook_tour", "choose_the_size"),
    *("probabilities", "prove_it", "ship_it", "pipeline", "validation_set", "warm_start_from_cart", "shap_explainer"),
    "rl_cartpole",
)


class GalleryOrder:
    """Sorts the files of a folder, for sphinx-gallery."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, name: str) -> tuple[int, str]:
        stem = name.removesuffix(".py")
        return (ORDER.index(stem) if stem in ORDER else len(ORDER), stem)
