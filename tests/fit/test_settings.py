"""Options, settings and recipes of a fit."""

import pytest

from dtsemnet.fit.settings import (
    ANNEALED_SHARE,
    CLASSIFICATION_RECIPES,
    REGRESSION_RECIPES,
    FitOptions,
    Setting,
    n_epochs_for,
    regression_recipe,
)

SETTING = Setting(0.03, (3.0, 0.1), 0.3, q=0.5)


def test_options_are_read_from_parameters_and_others_keep_their_defaults():
    options = FitOptions.of({"max_iter": 7, "n_init": 2, "max_depth": 3, "guard": True})
    assert options == FitOptions(max_iter=7, n_init=2)


@pytest.mark.parametrize(
    ("n_rows", "expected"), [(10, 200), (128 * 45, 100), (128 * 450, 10), (10**9, 10)], ids=["tiny", "", "", "huge"]
)
def test_epochs_make_the_usual_number_of_steps_within_bounds(n_rows, expected):
    assert n_epochs_for(n_rows, 128, most=200, fewest=10) == expected


def test_deeper_classifiers_get_smaller_steps_and_more_heat():
    assert SETTING.at_depth(2) == SETTING
    assert SETTING.at_depth(8) == Setting(0.015, (6.0, 0.2), 0.3, q=0.5)


def test_what_the_user_gave_replaces_a_part_of_a_setting():
    assert SETTING.override(learning_rate=1.0, l1=None) == Setting(1.0, (3.0, 0.1), 0.3, q=0.5)


def test_a_warm_start_is_slower_and_cooler_and_keeps_its_loss():
    warm = SETTING.warm()
    assert warm.learning_rate == SETTING.learning_rate / 3
    assert warm.temperature == (0.5, 0.1)
    assert warm.first_q == warm.q == 0.5


@pytest.mark.parametrize("recipes", [CLASSIFICATION_RECIPES, REGRESSION_RECIPES], ids=["classes", "numbers"])
def test_every_recipe_lays_out_its_epochs(recipes):
    for recipe in recipes.values():
        for setting in recipe.settings:
            assert sum(phase.n_epochs for phase in recipe.phases(setting, 40)) == 40


def test_annealed_classifiers_end_on_the_tree_itself():
    (phase,) = CLASSIFICATION_RECIPES["annealed"].phases(SETTING, 100)
    temperatures = [phase.step(epoch).temperature for epoch in range(100)]
    assert [temperature > 0 for temperature in temperatures] == [epoch < 100 * ANNEALED_SHARE for epoch in range(100)]


def test_only_the_squared_error_has_leaves_in_closed_form():
    assert regression_recipe("annealed", "squared_error").closed_form
    assert not regression_recipe("paper", "squared_error").closed_form
    trained = regression_recipe("annealed", "huber")
    assert not trained.closed_form
    splits, leaves = trained.phases(SETTING, 40)
    assert (splits.n_epochs, leaves.n_epochs, leaves.learning_rate) == (40, 10, 0.0)
