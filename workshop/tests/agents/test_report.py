"""Tables and curves from records: means over seeds, beside what was published."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dtsemnet.rl.environments import read_environment
from dtsemnet_paper.agents.curves import plot_curves
from dtsemnet_paper.agents.report import summarise, to_markdown
from dtsemnet_paper.agents.results import read_results
from dtsemnet_paper.bench.figures import save_figure

POLE = read_environment("CartPole-v1")


def record(agent="dtsemnet", seed=1, mean=400.0, last=300.0, **changes):
    settings = dict(POLE.configuration(agent, changes).settings)
    return {
        "key": f"{agent}{seed}{changes}", "environment": "CartPole-v1", "agent": agent, "seed": seed,
        "configuration": settings, "seconds": 120.0, "test": {"mean": mean, "std": 9.0, "sem": 0.9},
        "test_last": {"mean": last}, "curve": {"step": [1000, 2000], "mean": [mean / 2, mean]},
    }  # fmt: skip


def row_of(rows, label):
    return next(row for row in rows if row.label == label)


def test_spread_is_over_seeds_not_over_episodes():
    rows = summarise(POLE, [record(seed=seed, mean=mean) for seed, mean in enumerate([400.0, 450.0, 500.0])])
    figures = row_of(rows, "dtsemnet").figures()
    assert figures == pytest.approx({"mean": 450.0, "std": 50.0, "sem": 50.0 / np.sqrt(3)})
    cells = row_of(rows, "dtsemnet").cells()
    assert cells == ["dtsemnet", "4", "3", "450.00 ± 50.00", "28.87", "300.00 ± 0.00", "500.00 ± 0.00", "2"]


def test_one_seed_has_no_spread_and_none_no_figures():
    rows = summarise(POLE, [record(agent="mlp")])
    assert row_of(rows, "mlp").cells() == ["mlp", "", "1", "400.00", "", "300.00", "500.00 ± 0.00", "2"]
    assert row_of(rows, "dgt").figures() is None
    assert row_of(rows, "soft").cells() == ["soft", "4", "", "", "", "", "", ""]


def test_runs_with_other_settings_stand_apart():
    rows = summarise(POLE, [record(), record(depth=3, mean=100.0), record(depth=3, seed=2, mean=200.0)])
    assert [row.label for row in rows][:2] == ["dtsemnet", "dtsemnet (depth 3)"]
    other = row_of(rows, "dtsemnet (depth 3)")
    assert (other.figures()["mean"], other.depth, other.published, other.seeds) == (150.0, 3, {}, [1, 2])
    assert row_of(rows, "dtsemnet").figures()["mean"] == 400.0


def test_records_of_other_environments_are_left_out():
    assert all(not row.records for row in summarise(read_environment("Acrobot-v1"), [record()]))


def test_the_newest_record_of_a_run_counts(tmp_path):
    with (tmp_path / "rl.jsonl").open("w") as file:
        for mean in (1.0, 2.0):
            file.write(json.dumps(record(mean=mean)) + "\n")
    assert [found["test"]["mean"] for found in read_results(tmp_path)] == [2.0]


def test_the_report_shows_every_environment_and_says_which_spread(tmp_path):
    (tmp_path / "rl.jsonl").write_text(json.dumps(record()) + "\n")
    text = to_markdown(tmp_path, {"CartPole-v1": "figures/rl-CartPole-v1.png"})
    assert "| dtsemnet | 4 | 1 | 400.00 |  | 300.00 | 500.00 ± 0.00 | 2 |" in text
    assert "325.35 ± 0.79" in text
    assert "standard deviation over seeds" in text
    assert "published: mean ± standard error" in text
    assert text.count("![") == 1
    assert all(len(line.split("|")) == 10 for line in text.splitlines() if line.startswith("|"))


def test_curves_show_mean_and_range_over_seeds(tmp_path):
    rows = summarise(POLE, [record(mean=100.0), record(seed=2, mean=300.0), record(agent="mlp", mean=50.0)])
    figure = plot_curves(POLE, rows)
    ax = figure.axes[0]
    lines = {line.get_label(): line.get_ydata() for line in ax.lines if not line.get_label().startswith("_")}
    assert {name: list(values) for name, values in lines.items()} == {
        "dtsemnet, 2": [100.0, 200.0],
        "mlp, 1": [25.0, 50.0],
    }
    low, high = ax.collections[0].get_paths()[0].get_extents().get_points()[:, 1]
    assert (low, high) == (50.0, 300.0)
    paths = save_figure(figure, tmp_path / "figures" / "curve")
    first = [path.read_bytes() for path in paths]
    assert [path.read_bytes() for path in save_figure(plot_curves(POLE, rows), tmp_path / "figures" / "curve")] == first


def test_one_disaster_does_not_flatten_the_other_curves():
    usual = {"step": list(range(1, 41)), "mean": [float(200 + n) for n in range(40)]}
    disaster = usual | {"mean": [-10_000.0, *usual["mean"][1:]]}
    for curve, cut in ((usual, False), (disaster, True)):
        rows = summarise(POLE, [record() | {"curve": curve}])
        bottom, top = plot_curves(POLE, rows).axes[0].get_ylim()
        assert top - bottom < 400  # the published 500 is drawn, too
        assert (bottom > min(curve["mean"])) == cut


def test_nothing_is_drawn_without_curves():
    assert plot_curves(POLE, summarise(POLE, [])) is None
