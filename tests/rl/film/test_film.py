"""Films of episodes: as many pictures as steps, the tree beside the frame, every kind of policy."""

from __future__ import annotations

import sys

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from stable_baselines3 import PPO, SAC
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from dtsemnet.plot.style import ACCENT
from dtsemnet.rl import TopKSAC, TreePolicy, TreeSACPolicy, evaluate, policy_tree
from dtsemnet.rl.film import panel, render
from dtsemnet.rl.film.panel import TreePanel, rgb
from dtsemnet.rl.film.writer import open_film
from dtsemnet.tree import Encoder, Model, Topology, Tree, class_colors, tint
from strategies import points, trees

END = 10
"""Pictures of the end at 10 a second."""


class Line(gym.Env):
    """Walk along a line for eight steps; the frame shows the place as a red column."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012
    observation_space = spaces.Box(-1.0, 1.0, (2,), np.float32)

    def __init__(self, actions, render_mode="rgb_array"):
        self.action_space, self.render_mode = actions, render_mode

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time, self.taken = 0, []
        return self._look(), {}

    def step(self, action):
        assert self.action_space.contains(action), action
        self.taken.append(action)
        self.time += 1
        return self._look(), -1.5, self.time == 8, False, {}

    def render(self):
        picture = np.zeros((60, 100, 3), np.uint8)
        picture[:, 10 * self.time : 10 * self.time + 5] = (255, 0, 0)
        return picture

    def _look(self):
        return np.array([self.time / 8, (-1.0) ** self.time], np.float32)


FOUR = spaces.Discrete(4)
PULL = spaces.Box(np.array([-1.0, 0.0], np.float32), np.array([1.0, 3.0], np.float32))


def pictures(path):
    film = Image.open(path)
    shown = []
    for place in range(film.n_frames):
        film.seek(place)
        shown.append(np.asarray(film.convert("RGB")).astype(int))
    return shown


def has(picture, color):
    """Tell whether a colour is in a picture."""
    return bool((np.abs(picture - np.array(color)).max(axis=2) <= 4).any())


def discrete_agent(**kwargs):
    env = Line(FOUR)
    return PPO(TreePolicy, env, n_steps=8, batch_size=8, seed=0, device="cpu", **kwargs), env


@pytest.mark.parametrize("kind", ["tree", "agent", "mlp", "sac tree", "sac mlp"])
def test_a_picture_for_each_step_and_the_end(kind, tmp_path):
    make = {
        "tree": lambda: policy_tree(discrete_agent()[0]),
        "agent": lambda: discrete_agent()[0],
        "mlp": lambda: PPO("MlpPolicy", Line(FOUR), n_steps=8, batch_size=8, device="cpu"),
        "sac tree": lambda: TopKSAC(TreeSACPolicy, Line(PULL), buffer_size=100, device="cpu"),
        "sac mlp": lambda: SAC("MlpPolicy", Line(PULL), buffer_size=100, device="cpu"),
    }
    env = Line(PULL if "sac" in kind else FOUR)
    path = render(make[kind](), env, str(tmp_path / "film.gif"), fps=10)
    assert path == tmp_path / "film.gif"
    assert len(env.taken) == 8
    shown = pictures(path)
    assert len(shown) == 8 + END
    for time, picture in enumerate(shown):
        column = 10 * min(time, 8) + 2
        assert np.abs(picture[200, column] - (255, 0, 0)).max() <= 4  # low frames stand in the middle
        assert picture[200, (column + 50) % 100].max() <= 4
        assert has(picture[:, 100:], rgb(ACCENT)) == ("mlp" not in kind)


def test_the_tree_plays_as_the_agent_does(tmp_path):
    agent, env = discrete_agent()
    render(policy_tree(agent, action_names=["up", "down", "left", "right"]), env, tmp_path / "a.gif", fps=10)
    named = list(env.taken)
    evaluate(agent, env, [500])
    assert named == env.taken
    render(agent, env, tmp_path / "b.gif", max_steps=3, fps=10)
    assert env.taken == named[:3]
    assert len(pictures(tmp_path / "b.gif")) == 3 + END


def test_statistics_of_the_observations_are_used(tmp_path):
    world = VecNormalize(DummyVecEnv([lambda: Line(FOUR)]))
    world.obs_rms.mean, world.obs_rms.var = np.array([0.9, 0.5]), np.array([0.01, 4.0])
    for policy in (TreePolicy, "MlpPolicy"):
        agent = PPO(policy, world, n_steps=8, batch_size=8, seed=1, device="cpu")
        agent.save(tmp_path / "agent.zip")
        alone = PPO.load(tmp_path / "agent.zip", device="cpu")
        taken = []
        for who, statistics in ((agent, None), (alone, world)):
            env = Line(FOUR)
            render(who, env, tmp_path / "film.gif", fps=10, vec_normalize=statistics)
            taken.append([int(action) for action in env.taken])
        env = Line(FOUR)
        evaluate(agent, env, [0])
        assert taken[0] == taken[1] == [int(action) for action in env.taken]


@pytest.mark.parametrize("policy", [TreeSACPolicy, "MlpPolicy"])
def test_numbers_of_an_action_go_by_their_names(tmp_path, policy, monkeypatch):
    agent, told = SAC(policy, Line(PULL), buffer_size=1, seed=1, device="cpu"), []
    monkeypatch.setattr(panel, "_write", lambda pen, x, y, text, *size, **how: told.append(text))
    render(agent, Line(PULL), tmp_path / "film.gif", max_steps=1, output_names=["thrust", "turn"])
    assert {"thrust", "turn"} <= set(told)
    assert not any(text.startswith("action") for text in told)
    with pytest.raises(ValueError, match="output_names must name the 2 numbers of an action"):
        render(agent, Line(PULL), tmp_path / "film.gif", output_names=["thrust"])


@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_every_tree_has_a_panel_that_lights_the_leaf_reached(data):
    tree = data.draw(trees())
    X = data.draw(points(tree.n_features))
    model = Model(Encoder.identity(tree.feature_labels), tree)
    beside = TreePanel(model, 400)
    for x in X[:2]:
        picture = np.asarray(beside.draw(3, -2.5, x, np.zeros(tree.n_outputs))).astype(int)
        leaf = int(model.apply(x[None])[0])
        for j in range(tree.n_leaves):
            left, top, right, bottom = (part / 3 for part in beside.positions.box(j))
            color = picture[round((top + bottom) / 2), round((left + right) / 2)]
            lit = beside._color(j)
            wanted = rgb(lit) if j == leaf else rgb(tint(lit, 0.4))
            if right - left > 3:
                assert np.abs(color - wanted).max() <= 6, (j, leaf)


def test_long_paths_and_many_leaves_fit(tmp_path):
    chain = Topology([[~i, i + 1] for i in range(19)] + [[~19, ~20]])
    rng = np.random.default_rng(0)
    for topology in (chain, Topology.complete(9), Topology([])):
        weight, bias = rng.standard_normal((topology.n_splits, 2)), rng.standard_normal(topology.n_splits)
        tree = Tree(topology, weight, bias, np.eye(4)[np.arange(topology.n_leaves) % 4], class_names=range(4))
        path = render(Model(Encoder.identity(["a", "b"]), tree), Line(FOUR), tmp_path / "film.gif", max_steps=2, fps=10)
        assert pictures(path)[0].shape[1] <= 100 + 720


def test_gif_keeps_pixels_and_time(tmp_path):
    rng = np.random.default_rng(0)
    colors = [rgb(color) for color in class_colors(8)]
    made = []
    for place in range(40):
        pixels = np.zeros((30, 50, 3), np.uint8)
        pixels[5:9, place : place + 4] = colors[rng.integers(8)]
        made += [pixels] * (1 + (place == 20))  # once without a change
    with open_film(tmp_path / "film.gif", 20, colors) as film:
        for pixels in made:
            film.add(Image.fromarray(pixels))
    shown = pictures(tmp_path / "film.gif")
    assert len(shown) == 41
    assert all(np.abs(a - b.astype(int)).max() <= 4 for a, b in zip(shown, made, strict=True))
    assert Image.open(tmp_path / "film.gif").info["duration"] == 50


def test_mp4_goes_to_ffmpeg(tmp_path, monkeypatch):
    # A program that stands in for ffmpeg: it notes its arguments and what it was fed.
    fake = tmp_path / "ffmpeg"
    fake.write_text(
        f"#!{sys.executable}\nimport sys\ndata = sys.stdin.buffer.read()\n"
        "open(sys.argv[-1], 'w').write(' '.join([str(len(data)), *sys.argv[1:]]))\n"
    )
    fake.chmod(0o755)
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with open_film(tmp_path / "film.mp4", 25) as film:
        for _ in range(3):
            film.add(Image.new("RGB", (7, 5)))
    size, *arguments = (tmp_path / "film.mp4").read_text().split()
    assert int(size) == 3 * 7 * 5 * 3
    assert {"7x5", "25", "pad=ceil(iw/2)*2:ceil(ih/2)*2"} <= set(arguments)  # ffmpeg makes the sides even
    fake.write_text(f"#!{sys.executable}\nimport sys\nsys.stdin.buffer.read()\nsys.exit('no such encoder')\n")
    with pytest.raises(RuntimeError, match="no such encoder"), open_film(tmp_path / "film.mp4", 25) as film:
        film.add(Image.new("RGB", (8, 6)))


def test_errors_name_the_way_out(tmp_path, monkeypatch):
    agent, env = discrete_agent()
    with pytest.raises(ValueError, match=r"\.gif or \.mp4"):
        render(agent, env, tmp_path / "film.avi")
    with pytest.raises(ValueError, match="rgb_array"):
        render(agent, Line(FOUR, render_mode=None), tmp_path / "film.gif")
    with pytest.raises(ValueError, match="max_steps"):
        render(agent, env, tmp_path / "film.gif", max_steps=0)
    with pytest.raises(ValueError, match="fps"):
        render(agent, env, tmp_path / "film.gif", fps=0)
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ImportError, match="imageio-ffmpeg"):
        render(agent, env, tmp_path / "film.mp4")
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match=r"dtsemnet\[plot\]"):
        render(agent, env, tmp_path / "film.gif")


@pytest.mark.parametrize("name", ["CartPole-v1", "LunarLander-v3"])
def test_environments_by_name(name, tmp_path):
    agent = PPO(TreePolicy, name, policy_kwargs={"max_depth": 5}, n_steps=8, batch_size=8, seed=0, device="cpu")
    path = render(agent, name, tmp_path / "film.gif", max_steps=2, fps=2)
    first, last = pictures(path)[0], pictures(path)[-1]
    assert first.shape[0] == 400
    assert not np.array_equal(first, last)
