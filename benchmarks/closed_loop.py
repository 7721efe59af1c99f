"""Proofs about control loops: five systems, a claim that holds and one that does not, side by side with boxes.

    python benchmarks/closed_loop.py --train      # fits the policies again, into docs/models
    python benchmarks/closed_loop.py [system ...] # proves, and writes closed_loop.jsonl and CLOSED_LOOP.md here

Each policy is a tree that imitates a simple rule on random states; the rules are below. One more for CartPole was
trained by reward, by the command that its file names. The box method propagates one
box for each branch of the tree, cuts it by the splits that it passes, and evaluates the system in intervals; the
initial set is first cut into as many equal boxes as the table says. Its intervals are not rounded outwards, which is
to its favour. Where the policy sees formulas of the state (the pendulum), a split cuts only what is seen. Seconds are
of the processor, one thread.
"""

from __future__ import annotations

import contextlib
import io
import json
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import dtsemnet
import dtsemnet_check
from dtsemnet import DTSemNetClassifier, DTSemNetRegressor
from dtsemnet.arrays import Floats
from dtsemnet.tree import Model
from dtsemnet.verify.closed_loop import (
    LoopAnswer,
    System,
    clip,
    cos,
    maximum,
    reaches,
    returns,
    sin,
    stays_safe,
    where,
)  # fmt: skip
from dtsemnet.verify.closed_loop.expressions import Expression, in_order
from dtsemnet.verify.proof.regions import leaves_below

HERE = Path(__file__).parent
MODELS = HERE.parent / "docs" / "models"
Sets = dict[str, tuple[float, float]]


def double_integrator() -> System:
    """A point that is pushed; position and speed are disturbed."""

    def step(x: Any, u: Any, w: Any) -> list[Any]:
        return [x[0] + 0.2 * x[1] + 0.02 * u[0] + w[0], x[1] + 0.2 * u[0] + w[1]]

    return System(
        step, ["position", "speed"], actions={"push": 1.0, "rest": 0.0, "pull": -1.0},
        disturbance={"drift": (-0.002, 0.002), "wind": (-0.01, 0.01)},
    )  # fmt: skip


def cruise_control() -> System:
    """The gap to the car ahead and the speed at which it closes; the car ahead brakes and speeds up as it likes."""

    def step(x: Any, u: Any, w: Any) -> list[Any]:
        return [x[0] - 0.5 * x[1] - 0.125 * (u[0] - w[0]), x[1] + 0.5 * (u[0] - w[0])]

    actions = {"brake": -3.0, "hold": 0.0, "speed up": 1.0}
    return System(step, ["gap", "closing"], actions=actions, disturbance={"lead": (-0.5, 0.5)})


def pole_accelerations(angle: Any, spin: Any, force: Any) -> tuple[Any, Any]:
    """Accelerations of the cart and of the pole of CartPole-v1."""
    push = (force + 0.05 * spin**2 * sin(angle)) / 1.1
    turn = (9.8 * sin(angle) - cos(angle) * push) / (0.5 * (4.0 / 3.0 - 0.1 * cos(angle) ** 2 / 1.1))
    return push - 0.05 * turn * cos(angle) / 1.1, turn


TURN_ANGLE = 9.8 / (0.5 * (4 / 3 - 0.1 / 1.1))
TURN_FORCE = -1 / 1.1 / (0.5 * (4 / 3 - 0.1 / 1.1))
CART_ANGLE, CART_FORCE = -0.05 * TURN_ANGLE / 1.1, 1 / 1.1 - 0.05 * TURN_FORCE / 1.1
CART_ERROR, TURN_ERROR = 0.02, 0.2


def cart_pole() -> System:
    """CartPole-v1 with accelerations that are linear in angle and force; how far they are off is a disturbance."""

    def step(x: Any, u: Any, w: Any) -> list[Any]:
        cart = CART_ANGLE * x[2] + CART_FORCE * u[0] + w[0]
        turn = TURN_ANGLE * x[2] + TURN_FORCE * u[0] + w[1]
        return [x[0] + 0.02 * x[1], x[1] + 0.02 * cart, x[2] + 0.02 * x[3], x[3] + 0.02 * turn]

    errors = {"cart error": (-CART_ERROR, CART_ERROR), "turn error": (-TURN_ERROR, TURN_ERROR)}
    names = ["position", "speed", "angle", "spin"]
    return System(step, names, actions={0: -10.0, 1: 10.0}, disturbance=errors, observed_as="float32")


def linearisation_error() -> System:
    """By how much the linear accelerations are off: a system whose next state is that error, for any force."""

    def step(x: Any, u: Any, w: Any) -> list[Any]:
        cart, turn = pole_accelerations(x[0], x[1], w[0])
        errors = [cart - CART_ANGLE * x[0] - CART_FORCE * w[0], turn - TURN_ANGLE * x[0] - TURN_FORCE * w[0]]
        return [x[0], x[1], *errors]

    names = ["angle", "spin", "cart error", "turn error"]
    return System(step, names, disturbance={"force": (-10.0, 10.0)})


def mountain_car() -> System:
    """MountainCar-v0, with its walls."""

    def step(x: Any, u: Any, w: Any) -> list[Any]:
        speed = clip(x[1] + 0.001 * u[0] - 0.0025 * cos(3 * x[0]), -0.07, 0.07)
        position = clip(x[0] + speed, -1.2, 0.6)
        return [position, where(position <= -1.2, maximum(speed, 0.0), speed)]

    return System(step, ["position", "speed"], actions={0: -1.0, 1: 0.0, 2: 1.0}, observed_as="float32")


def pendulum() -> System:
    """Pendulum-v1: what the policy sees is cosine, sine and speed."""

    def step(x: Any, u: Any, w: Any) -> list[Any]:
        speed = clip(x[1] + (15.0 * sin(x[0]) + 3.0 * clip(u[0], -2.0, 2.0)) * 0.05, -8.0, 8.0)
        return [x[0] + 0.05 * speed, speed]

    return System(
        step, ["angle", "speed"], observe=lambda x: [cos(x[0]), sin(x[0]), x[1]], observed_as="float32"
    )  # fmt: skip


def train() -> None:
    """Fit the policies to their rules."""
    rng = np.random.default_rng(0)

    def learn(name: str, estimator: Any, X: Floats, y: Any, rule: str) -> None:
        model = estimator.fit(X, y).model_
        model.save(MODELS / f"{name}.json", about={"command": "python benchmarks/closed_loop.py --train", "rule": rule})

    def classes(depth: int) -> DTSemNetClassifier:
        return DTSemNetClassifier(max_depth=depth, random_state=0)

    X = rng.uniform(-1, 1, (2000, 2))
    lean = X @ [1.0, 1.5]
    y: Any = np.where(lean < -0.3, "push", np.where(lean > 0.3, "pull", "rest"))
    learn("loop_integrator", classes(2), X, y, "push if position + 1.5 speed < -0.3, pull if > 0.3")
    X = rng.uniform([0, -6], [60, 8], (4000, 2))
    room = X[:, 0] - 2 * X[:, 1]
    y = np.where(room < 15, "brake", np.where(room > 22, "speed up", "hold"))
    learn("loop_cruise", classes(2), X, y, "brake if gap - 2 closing < 15, speed up if > 22")
    X = rng.uniform([-1, -1, -0.15, -1], [1, 1, 0.15, 1], (4000, 4))
    y = (X @ [0.3, 0.6, 8.0, 1.5] > 0).astype(int)
    learn("loop_cartpole", classes(2), X, y, "1 if 0.3 position + 0.6 speed + 8 angle + 1.5 spin > 0")
    X = rng.uniform([-1.2, -0.07], [0.6, 0.07], (2000, 2))
    learn("loop_mountain_car", classes(1), X, np.where(X[:, 1] > 0, 2, 0), "2 if speed > 0, else 0")
    angle, speed = rng.uniform([-0.6, -2], [0.6, 2], (3000, 2)).T
    X, force = np.column_stack([np.cos(angle), np.sin(angle), speed]), -8 * np.sin(angle) - 2 * speed
    learn(
        "loop_pendulum", DTSemNetRegressor(max_depth=2, random_state=0), X, force.clip(-2, 2),
        "-8 sin(angle) - 2 speed, between -2 and 2",
    )  # fmt: skip


def curved_switch(depth: int) -> Model:
    """A tree that pushes or pulls by a curved rule, which takes more splits the nearer it is to be."""
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (3000, 2))
    lean = X[:, 0] + 0.5 * X[:, 1] + 2 * X[:, 1] * np.abs(X[:, 1])
    y = np.where(lean < -0.1, "push", np.where(lean > 0.1, "pull", "rest"))
    return DTSemNetClassifier(max_depth=depth, effort=0, random_state=0).fit(X, y).model_


class Case(NamedTuple):
    """A claim about a loop."""

    name: str
    claim: str
    ask: Callable[[], LoopAnswer]
    boxes: Callable[[int], bool] | None = None
    """The box method on the same claim, with so many boxes per axis."""


def cases() -> Iterator[Case]:
    """The claims of the table."""

    def safe(name: str, model: str, system: System, initial: Sets, within: Sets, k: int) -> Case:
        return safe_policy(name, Model.load(MODELS / f"{model}.json"), system, initial, within, k)

    def safe_policy(name: str, policy: Model, system: System, initial: Sets, within: Sets, k: int) -> Case:
        words = f"from {words_of(initial)} within {words_of(within)} for {k} steps"
        return Case(
            name, words, lambda: stays_safe(policy, system, initial, within, k, time_limit=150),
            lambda n: boxes_stay_safe(policy, system, initial, within, k, n),
        )  # fmt: skip

    start = {"position": (-0.2, 0.2), "speed": (-0.2, 0.2)}
    for k in (5, 10, 20):
        within = {"position": (-0.32, 0.32), "speed": (-0.3, 0.3)}
        yield safe("double integrator", "loop_integrator", double_integrator(), start, within, k)
    yield safe("double integrator", "loop_integrator", double_integrator(), start, {"position": (-0.22, 0.22)}, 20)
    wider = {"position": (-0.32, 0.32), "speed": (-0.36, 0.36)}
    for depth in (2, 4, 6):
        tree = curved_switch(depth)
        name, n_leaves = f"double integrator, depth {depth}", tree.tree.n_leaves
        case = safe_policy(name, tree, double_integrator(), start, wider, 6)
        yield case._replace(claim=f"{n_leaves} leaves: {case.claim}")
    start = {"gap": (15, 25), "closing": (-1, 1)}
    for k in (5, 10, 20):
        yield safe("cruise control", "loop_cruise", cruise_control(), start, {"gap": (12, 30)}, k)
    yield safe("cruise control", "loop_cruise", cruise_control(), start | {"closing": (-1, 6)}, {"gap": (12, 30)}, 20)
    start = dict.fromkeys(("position", "speed", "angle", "spin"), (-0.02, 0.02))
    for k in (5, 10, 15):
        within = {"position": (-2.4, 2.4), "angle": (-0.03, 0.03), "spin": (-0.5, 0.5)}
        yield safe("CartPole, linearised", "loop_cartpole", cart_pole(), start, within, k)
    within = {"angle": (-0.1, 0.1), "spin": (-0.3, 0.3)}
    yield safe("CartPole, linearised", "loop_cartpole", cart_pole(), start, within, 15)
    within = {"position": (-2.4, 2.4), "angle": (-0.1, 0.1), "spin": (-1.5, 1.5)}
    for k in (5, 10, 15):
        yield safe("CartPole, by reward", "loop_cartpole_reward", cart_pole(), start, within, k)
    policy, system = Model.load(MODELS / "loop_pendulum.json"), pendulum()
    for k in (5, 10, 20):
        start = {"angle": (-0.1, 0.1), "speed": (-0.2, 0.2)}
        yield safe("pendulum", "loop_pendulum", system, start, {"angle": (-0.12, 0.12)}, k)
    yield safe(
        "pendulum", "loop_pendulum", system, {"angle": (-0.3, 0.3), "speed": (-1, 1)}, {"angle": (-0.5, 0.5)}, 20
    )
    region = {"angle": (-0.1, 0.1), "speed": (-0.2, 0.2)}
    yield Case(
        "pendulum", f"from {words_of(region)} back there within 20 steps, |angle| <= 0.12 for ever",
        lambda: returns(policy, system, region, safe={"angle": (-0.12, 0.12)}, steps=20, time_limit=150),
    )  # fmt: skip
    car, hill = Model.load(MODELS / "loop_mountain_car.json"), mountain_car()
    for k in (60, 30):
        swing = {"position": (-1.05, -0.95), "speed": (0.002, 0.006)}
        yield Case(
            "MountainCar", f"from {words_of(swing)} to position >= 0.5 within {k} steps",
            lambda k=k, swing=swing: reaches(car, hill, swing, {"position": (0.5, 1.0)}, k, time_limit=150),
            lambda n, k=k, swing=swing: boxes_reach(car, hill, swing, {"position": (0.5, 1.0)}, k, n),
        )  # fmt: skip


def words_of(sets: Sets) -> str:
    """Write a set."""
    groups: dict[tuple[float, float], list[str]] = {}
    for name, ends in sets.items():
        groups.setdefault(ends, []).append(name)
    return ", ".join(f"{', '.join(names)} in [{low:g}, {high:g}]" for (low, high), names in groups.items())


def run() -> None:
    """Prove, check, compare, and write the records; those of other systems than the ones named stay."""
    wanted, path = sys.argv[1:], HERE / "closed_loop.jsonl"
    records = [json.loads(line) for line in path.read_text("utf-8").splitlines()[1:]] if wanted else []
    records = [one for one in records if one["system"] not in wanted]
    idle = Model.of(dtsemnet.Tree(dtsemnet.Topology([]), np.empty((0, 4)), [], [[0.0]]))
    at = {"angle": (-0.1, 0.1), "spin": (-1.5, 1.5), "cart error": (0, 0), "turn error": (0, 0)}
    most = {"cart error": (-CART_ERROR, CART_ERROR), "turn error": (-TURN_ERROR, TURN_ERROR)}
    error = Case(
        "CartPole, error", "linear accelerations are off by at most 0.02 and 0.2, if |angle| <= 0.1, |spin| <= 1.5",
        lambda: stays_safe(idle, linearisation_error(), at, most, 1),
    )  # fmt: skip
    for case in (error, *cases()):
        if wanted and case.name not in wanted:
            continue
        started = time.process_time()
        answer = case.ask()
        found = time.process_time()
        checked = answer.proof.check() if answer.proof is not None else None
        record = {
            "system": case.name, "claim": case.claim, "answer": answer.status, "programs": answer.n_programs,
            "branches": answer.n_branches, "parts": answer.n_parts, "seconds": round(found - started, 2),
            "checked": checked, "check seconds": round(time.process_time() - found, 2),
        }  # fmt: skip
        if answer.status != "undecided":
            record |= {"dtsemnet-check seconds": checker_seconds(answer)}
        if answer.trace is not None:
            record |= {"trace from": answer.trace.states[0].tolist(), "trace": answer.trace.reason}
        if answer and case.boxes is not None:
            record |= {f"boxes {n}": case.boxes(n) for n in (1, 16)}
        records.append(record)
        print(json.dumps(record), flush=True)
    about = {"python": platform.python_version(), "numpy": np.__version__, "dtsemnet": dtsemnet.__version__}
    about["processor"] = platform.machine()
    lines = [json.dumps(one) for one in (about, *records)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    (HERE / "CLOSED_LOOP.md").write_text(table(about, records), encoding="utf-8")


def checker_seconds(answer: LoopAnswer) -> float:
    """Seconds that dtsemnet-check takes for the answer as a file; it must accept it."""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        path = answer.save_proof(Path(folder) / "loop.proof.json")
        started = time.process_time()
        assert dtsemnet_check.main([str(path)]) == 0
    return round(time.process_time() - started, 2)


def table(about: dict[str, Any], records: list[dict[str, Any]]) -> str:
    """The records as a page."""
    lines = [
        "# Proofs about control loops", "",
        "Written by `python benchmarks/closed_loop.py`, with "
        f"Python {about['python']}, numpy {about['numpy']}, {about['processor']}, one thread.", "",
        'Policies are trees that imitate a rule, written in their files in `docs/models`; "by reward" is one that '
        "`dtsemnet rl train` trained. `check` is that of the library, `dtsemnet-check` is the checker without it.", "",
        "| system | claim | answer | programs | branches | parts | s | check, s | dtsemnet-check, s "
        "| boxes: 1 | 16 per axis |",
        "|---|---|---|--:|--:|--:|--:|--:|--:|---|---|",
    ]  # fmt: skip
    for one in records:
        answer = f"no, {one['trace']}" if "trace" in one else one["answer"]
        boxes = [{True: "proved", False: "fails", None: ""}[one.get(f"boxes {n}")] for n in (1, 16)]
        cells = [one["system"], one["claim"], answer, one["programs"], one["branches"], one["parts"], one["seconds"]]
        cells += [one["check seconds"] if one["checked"] else "", one.get("dtsemnet-check seconds", ""), *boxes]
        lines.append("| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


# The box method: intervals of every number, one box for each branch.

Box = tuple[Floats, Floats]
MOST_BOXES = 3000


def boxes_stay_safe(policy: Model, system: System, initial: Sets, safe: Sets, k: int, n: int) -> bool:
    """Whether boxes prove that the loop stays safe."""
    within = system.state_set("safe", safe)

    def inside(box: Box) -> bool:
        return bool((box[0] >= within.lower).all() and (box[1] <= within.upper).all())

    for box in grid(system, initial, n):
        boxes = [box]
        for _ in range(k):
            boxes = [after for one in boxes for after in step_of_box(policy, system, one)]
            if len(boxes) > MOST_BOXES or not all(map(inside, boxes)):
                return False
    return True


def boxes_reach(policy: Model, system: System, initial: Sets, goal: Sets, k: int, n: int) -> bool:
    """Whether boxes prove that the loop reaches the goal."""
    target = system.state_set("goal", goal)

    def missing(box: Box) -> bool:
        return not ((box[0] >= target.lower).all() and (box[1] <= target.upper).all())

    for box in grid(system, initial, n):
        boxes = [box]
        for _ in range(k):
            boxes = [after for one in boxes for after in step_of_box(policy, system, one) if missing(after)]
            if len(boxes) > MOST_BOXES:
                return False
        if boxes:
            return False
    return True


def grid(system: System, initial: Sets, n: int) -> Iterator[Box]:
    """Cut a box into equal ones, along the first two axes."""
    ends = system.state_set("initial", initial)
    first, second = (np.linspace(ends.lower[k], ends.upper[k], n + 1) for k in (0, 1))
    for i in range(n):
        for j in range(n):
            low, high = ends.lower.copy(), ends.upper.copy()
            low[:2], high[:2] = (first[i], second[j]), (first[i + 1], second[j + 1])
            yield low, high


def step_of_box(policy: Model, system: System, box: Box) -> Iterator[Box]:
    """The boxes after one step."""
    tree = policy.tree
    values = dict(zip(system.x, zip(*box)))
    seen = intervals(system.observation, values)
    todo = [(0 if tree.n_splits else -1, np.array(seen), box)]
    while todo:
        node, z, here = todo.pop()
        below = leaves_below(tree, node)
        if node < 0 or (tree.coef is None and len({tree.leaf_class[leaf] for leaf in below}) == 1):
            yield apply_leaf(policy, system, z, here, below.start)
            continue
        weight, bias = tree.weight[node], tree.bias[node]
        for side, sign in ((0, 1.0), (1, -1.0)):
            cut = contract(sign * weight, -sign * bias, z)
            if cut is not None:
                is_state = len(seen) == len(box[0])  # else what is seen of a cut does not say where the state is
                smaller = (cut[:, 0], cut[:, 1]) if is_state else here
                todo.append((int(tree.topology.children[node, side]), cut, smaller))


def contract(weight: Floats, bound: float, z: Floats) -> Floats | None:
    """The part of a box in which ``weight . z <= bound``, as a box; None if it is empty."""
    least = np.where(weight > 0, weight * z[:, 0], weight * z[:, 1])
    room = bound - (least.sum() - least)
    if least.sum() > bound:
        return None
    z = z.copy()
    for k in np.flatnonzero(weight):
        end = room[k] / weight[k]
        z[k, 1 if weight[k] > 0 else 0] = min(z[k, 1], end) if weight[k] > 0 else max(z[k, 0], end)
    return z


def apply_leaf(policy: Model, system: System, z: Floats, box: Box, leaf: int) -> Box:
    """Act as a leaf says, and step."""
    tree = policy.tree
    if system.actions is not None:
        assert tree.class_names is not None
        action = [(u, u) for u in system.actions[tree.class_names[tree.leaf_class[leaf]]]]
    else:
        coef = np.zeros((tree.n_outputs, tree.n_features)) if tree.coef is None else tree.coef[leaf]
        low = np.where(coef > 0, coef * z[:, 0], coef * z[:, 1]).sum(axis=1) + tree.value[leaf]
        high = np.where(coef > 0, coef * z[:, 1], coef * z[:, 0]).sum(axis=1) + tree.value[leaf]
        least, most = tree.guard
        action = list(zip(low.clip(least[leaf], most[leaf]), high.clip(least[leaf], most[leaf])))
    values = dict(zip(system.x, zip(*box))) | dict(zip(system.u, action))
    values |= dict(zip(system.w, system.disturbance.values()))
    after = np.array(intervals(system.next, values))
    return after[:, 0], after[:, 1]


def intervals(formulas: Any, values: dict[Expression, Any]) -> list[tuple[float, float]]:
    """Evaluate formulas in intervals."""
    known = dict(values)
    for formula in formulas:
        for term in in_order(formula, known):
            parts = [known[part] for part in term.parts]
            known[term] = interval_of(term, parts)
    return [known[formula] for formula in formulas]


def interval_of(term: Expression, parts: list[tuple[float, float]]) -> tuple[float, float]:
    """One operation in intervals."""
    kind = term.operation
    if kind == "constant":
        return term.number, term.number
    (a, b), *others = parts
    if kind in ("float32", "float64"):
        return a, b
    if kind in ("sin", "cos"):
        turn = np.pi / 2 if kind == "cos" else 0.0
        points = np.array([a, b, *(np.pi / 2 + np.pi * np.arange(-9, 10) - turn).clip(a, b)])
        found = np.sin(points + turn)
        return float(found.min()), float(found.max())
    if kind == "where":
        return min(parts[2][0], parts[3][0]), max(parts[2][1], parts[3][1])
    c, d = others[0] if others else (a, b)
    if kind == "add":
        return a + c, b + d
    if kind == "subtract":
        return a - d, b - c
    if kind == "maximum":
        return max(a, c), max(b, d)
    corners = [a * c, a * d, b * c, b * d]
    return min(corners), max(corners)


if __name__ == "__main__":
    train() if "--train" in sys.argv else run()
