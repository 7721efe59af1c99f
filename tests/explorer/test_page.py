"""The page as its users see it: clicks, keys, typing, screen readers, names that try to break out, large trees."""

from __future__ import annotations

import json

import numpy as np
import pytest
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.common.actions.wheel_input import ScrollOrigin
from selenium.webdriver.common.by import By
from sklearn.datasets import load_diabetes, load_iris

from dtsemnet import DTSemNetClassifier, DTSemNetRegressor
from dtsemnet.explorer import to_html
from dtsemnet.tree import Column, Encoder, Model, Topology, Tree
from dtsemnet.verify import Domain, audit
from explorer.conftest import frame, resize

# x0 > 1, then x1 > 2 on the right; on the left a sum of both.
SMALL = Tree(
    Topology([[1, 2], [-1, -2], [-3, -4]]),
    [[1.0, 0.0], [1.0, 1.0], [0.0, -1.0]],
    [-1.0, 0.0, 2.0],
    [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.25, 0.75]],
    feature_names=["length", "width"],
    class_names=["short", "long"],
)
ROWS = np.array([[0.0, -1.0], [0.5, 0.5], [3.0, 5.0], [3.0, 1.0]])


def shown_leaf(browser) -> str | None:
    return browser.find_element(By.ID, "answer").get_attribute("data-leaf")


def text(browser, name: str) -> str:
    return browser.find_element(By.ID, name).text


def type_into(browser, column: int, value: str) -> None:
    box = browser.find_element(By.ID, f"field-{column}")
    box.clear()
    box.send_keys(value)


def region(browser) -> list[str]:
    """What holds in the leaf that is shown, without the links to the splits."""
    lines = browser.find_elements(By.CSS_SELECTOR, "#node .region li")
    return [" ".join(part.text for part in line.find_elements(By.CLASS_NAME, "part")) for line in lines]


def chosen(browser) -> int | None:
    return browser.execute_script("return explorer.state.chosen")


def press(browser, *keys: str) -> None:
    ActionChains(browser).send_keys(*keys).perform()


def click_node(browser, node: int) -> None:
    """Click a node where it is drawn."""
    frame(browser)
    x, y = browser.execute_script(
        "const node = explorer.drawing.placed.find(({ id }) => id === arguments[0]); return [node.x, node.y];", node
    )
    canvas = browser.find_element(By.ID, "drawing")
    box = canvas.rect
    ActionChains(browser).move_to_element_with_offset(
        canvas, x - box["width"] / 2, y - box["height"] / 2
    ).click().perform()


def outline(browser) -> list[dict]:
    """The items of the tree as the browser gives them to a screen reader."""
    nodes = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    items = []
    for node in nodes:
        if not node["ignored"] and node["role"]["value"] == "treeitem":
            properties = {entry["name"]: entry["value"].get("value") for entry in node["properties"]}
            items.append({"name": node["name"]["value"], **properties})
    return items


def said_by_a_screen_reader(browser) -> str | None:
    """The name of the item that has the keyboard's focus."""
    active = "return document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))"
    item = browser.execute_script(active)
    return None if item is None else item.accessible_name


@pytest.fixture
def small(open_page, tmp_path):
    return open_page(to_html(SMALL, tmp_path / "small.html", title="A small tree"))


@pytest.fixture
def counted(open_page, tmp_path):
    return open_page(to_html(SMALL, tmp_path / "small.html", ROWS, ["short", "short", "long", "long"]))


def test_the_page_asks_for_nothing_but_itself(small, tmp_path):
    small.get_log("performance")
    small.get((tmp_path / "small.html").as_uri())
    messages = [json.loads(entry["message"])["message"] for entry in small.get_log("performance")]
    asked = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    assert asked[0].startswith("file:")
    assert [url for url in asked[1:] if not url.startswith("data:")] == []


def test_the_policy_forbids_the_network_and_other_scripts(small):
    refused = small.execute_async_script(
        "const done = (event) => arguments[0](event.effectiveDirective);"
        "document.addEventListener('securitypolicyviolation', done);"
        "fetch('http://127.0.0.1:9/').catch(() => {});"
    )
    assert refused == "connect-src"
    injected = "<button id=injected onclick='window.broken = 1'>x</button>"
    small.execute_script("document.body.insertAdjacentHTML('afterbegin', arguments[0])", injected)
    small.find_element(By.ID, "injected").click()
    assert small.execute_script("return window.broken") is None
    small.get_log("browser")  # what the browser says about the refusals


def test_typing_numbers_moves_the_path(small):
    for length, width in [("3", "5"), ("3", "1"), ("-2", "0"), ("0.5", "0.25"), ("1", "7"), ("1e300", "2")]:
        type_into(small, 0, length)
        type_into(small, 1, width)
        assert shown_leaf(small) == str(SMALL.apply([[float(length), float(width)]])[0])
    path = small.execute_script("return explorer.state.result.path.map(({ split }) => split)")
    assert path == SMALL.decision_path([[1e300, 2.0]])[0].tolist()


def test_a_box_without_a_number_gives_no_answer(small):
    small.find_element(By.ID, "field-0").send_keys(Keys.CONTROL, "a")
    small.find_element(By.ID, "field-0").send_keys(Keys.DELETE)
    assert shown_leaf(small) is None
    assert "length needs a number" in text(small, "answer")
    type_into(small, 0, "2")
    assert shown_leaf(small) is not None


def test_sliding_changes_box_and_path(counted):
    slider = counted.find_element(By.CSS_SELECTOR, "[aria-label='Slide length']")
    slider.send_keys(Keys.END)
    assert counted.find_element(By.ID, "field-0").get_attribute("value") == "3"
    assert shown_leaf(counted) == str(SMALL.apply([[3.0, -1.0]])[0])
    slider.send_keys(Keys.HOME)
    assert counted.find_element(By.ID, "field-0").get_attribute("value") == "0"


def test_categories_and_missing_values_can_be_chosen(open_page, tmp_path):
    encoder = Encoder(
        [
            Column("age", missing="indicator", fill=5.0),
            Column("colour", categories=["red", "blue"], missing="indicator"),
        ]
    )
    weight = [[1.0, 0, 0, 0, 0], [0, 1.0, 0, 0, 0], [0, 0, 1.0, 0, 0]]
    tree = Tree(Topology([[1, 2], [-1, -2], [-3, -4]]), weight, [-5.0, -0.5, -0.5], [[0.0], [1.0], [2.0], [3.0]])
    model = Model(encoder, tree)
    browser = open_page(to_html(model, tmp_path / "page.html"))
    options = [option.text for option in browser.find_elements(By.CSS_SELECTOR, "#field-1 option")]
    assert options == ["red", "blue", "(unknown)", "(missing)"]
    browser.find_element(By.ID, "field-0-missing").click()
    assert shown_leaf(browser) == str(model.apply(np.array([[None, "red"]], dtype=object))[0])
    type_into(browser, 0, "6")
    for option, value in zip(browser.find_elements(By.CSS_SELECTOR, "#field-1 option"), ["red", "blue", "green", None]):
        option.click()
        assert shown_leaf(browser) == str(model.apply(np.array([[6.0, value]], dtype=object))[0])
    browser.execute_script("explorer.choose(-4)")
    assert region(browser) == ["age > 5 and not missing", "colour = red"]
    browser.execute_script("explorer.choose(-2)")
    assert region(browser) == ["age ≤ 5 or missing", "age is missing"]


def test_clicking_a_split_shows_equation_and_weights(counted):
    click_node(counted, 1)
    assert chosen(counted) == 1
    shown = text(counted, "node")
    assert "Split 1" in shown
    assert "2 rows (50 %)" in shown
    equation = counted.find_element(By.CSS_SELECTOR, "#node .equation").text
    assert sorted(equation.removesuffix(" > 0").split(" + ")) == ["length", "width"]
    assert len(counted.find_elements(By.CSS_SELECTOR, "#node .bar")) == 2


def test_clicking_a_leaf_shows_region_rows_and_metrics(counted):
    click_node(counted, ~2)
    shown = text(counted, "node")
    assert "1 of" not in shown  # leaf 2 says short on a tie of its probabilities; its row is long
    assert "0 of 1 row right: accuracy 0 %" in shown
    assert region(counted) == ["length > 1", "width ≥ 2"]


def test_inequalities_on_one_column_are_merged(open_page, tmp_path):
    chain = Topology([[-1, 1], [2, -4], [-2, -3]])
    tree = Tree(chain, [[1.0], [2.0], [-1.0]], [0.0, -8.0, 3.0], [[0.0], [1.0], [2.0], [3.0]], feature_names=["age"])
    browser = open_page(to_html(tree, tmp_path / "page.html"))
    for leaf, interval in enumerate(["age ≤ 0", "3 ≤ age ≤ 4", "0 < age < 3", "age > 4"]):
        browser.execute_script("explorer.choose(arguments[0])", ~leaf)
        assert region(browser) == [interval]


def test_linear_leaves_show_equation_guard_and_error(open_page, tmp_path):
    tree = Tree(
        Topology.complete(1), [[1.0]], [0.0], [[1.0], [2.0]], [[[3.0]], [[0.5]]], [[-4.0], [0.0]], [[1.5], [9.0]],
        feature_names=["dose"],
    )  # fmt: skip
    browser = open_page(to_html(tree, tmp_path / "page.html", [[-1.0], [2.0], [4.0]], [0.0, 3.0, 5.0]))
    browser.execute_script("explorer.choose(-2)")
    shown = text(browser, "node")
    assert "0.5 dose + 2" in shown
    assert "clipped to the range from 0 to 9" in shown
    assert "RMSE 0.7071; mean target 4; mean prediction 3.5" in shown
    type_into_what_if(browser, "100")
    assert "Clipped by the guard" in text(browser, "answer")


def type_into_what_if(browser, value: str) -> None:
    browser.find_element(By.ID, "tab-whatif").click()
    type_into(browser, 0, value)


def test_weights_can_be_reordered_and_all_be_shown(open_page, tmp_path):
    weight = np.arange(1.0, 15.0)[None, ::-1] * np.where(np.arange(14) % 2, -1.0, 1.0)
    tree = Tree(Topology.complete(1), weight, [0.0], [[0.0], [1.0]])
    X = np.random.default_rng(0).normal(size=(30, 14)) * 10.0 ** np.arange(14)  # the last column matters most
    browser = open_page(to_html(tree, tmp_path / "page.html", X))
    browser.execute_script("explorer.choose(0)")

    def labels() -> list[str]:
        return [label.text for label in browser.find_elements(By.CSS_SELECTOR, "#node .bar-label")]

    assert labels() == [f"x{j}" for j in range(13, 3, -1)]
    browser.find_element(By.CSS_SELECTOR, "#node select option[value=weight]").click()
    assert labels() == [f"x{j}" for j in range(10)]
    browser.find_element(By.CSS_SELECTOR, "#node section button.link").click()
    assert labels() == [f"x{j}" for j in range(14)]


def test_rows_can_be_stepped_through(counted):
    for number, leaf in enumerate(SMALL.apply(ROWS)):
        assert shown_leaf(counted) == str(leaf)
        assert f"X[{number}]" in text(counted, "truth")
        counted.find_element(By.ID, "row-next").click()
    assert "X[0]" in text(counted, "truth")
    type_into(counted, 0, "2")
    assert text(counted, "truth") == "Changed by hand."


def test_search_finds_columns_classes_and_numbers(counted):
    for query, hits in [
        ("length", [0, 1]), ("WIDTH", [1, 2]), ("long", [-2, -4]), ("leaf 2", [-3]), ("split 2", [2]), ("1", [1, -2]),
        ("nowhere", []),
    ]:  # fmt: skip
        press(counted, "/")
        counted.find_element(By.ID, "search").clear()
        press(counted, query)
        assert sorted(counted.execute_script("return [...explorer.state.hits]")) == sorted(hits), query
        assert text(counted, "found") == ("nothing found" if not hits else f"{len(hits)} match{'es' * (len(hits) > 1)}")
        press(counted, Keys.ESCAPE)
        assert counted.execute_script("return explorer.state.hits.size") == 0


def test_enter_goes_from_hit_to_hit(counted):
    press(counted, "/", "long", Keys.ENTER)
    assert chosen(counted) == -2
    press(counted, Keys.ENTER)
    assert chosen(counted) == -4
    press(counted, Keys.ENTER)
    assert chosen(counted) == -2


def test_arrow_keys_walk_the_tree(counted):
    press(counted, Keys.ESCAPE)  # puts the focus on the tree
    assert counted.switch_to.active_element.get_attribute("id") == "tree"
    for key, node in [
        (Keys.ARROW_DOWN, 0), (Keys.ARROW_DOWN, 1), (Keys.ARROW_RIGHT, 2), (Keys.ARROW_RIGHT, 2), (Keys.ARROW_DOWN, -3),
        (Keys.ARROW_LEFT, -2), (Keys.ARROW_UP, 1), (Keys.HOME, 0), (Keys.END, -1),
    ]:  # fmt: skip
        press(counted, key)
        assert chosen(counted) == node
    assert said_by_a_screen_reader(counted).startswith("No: Leaf 0: short")
    press(counted, Keys.ESCAPE)
    assert chosen(counted) is None


def test_a_screen_reader_finds_a_tree(counted):
    items = outline(counted)  # nothing is chosen: the path of the first row, and what lies beside it
    assert [item["name"] for item in items] == [
        "Split 0: length > 1, 4 rows, on the path of the input",
        "No: Split 1: width + length > 0, 2 rows, on the path of the input",
        "No: Leaf 0: short, 100 % · 1 row, on the path of the input",
        "Yes: Leaf 1: long, 100 % · 1 row",
        "Yes: Split 2: width < 2, 2 rows",
    ]
    assert [item["level"] for item in items] == [1, 2, 3, 3, 2]
    assert [item.get("expanded") for item in items] == [True, True, None, None, False]
    assert not any(item["selected"] for item in items)


def test_what_a_screen_reader_finds_keeps_step_with_the_choice(counted):
    press(counted, Keys.ESCAPE, Keys.HOME, Keys.ARROW_DOWN, Keys.ARROW_RIGHT)
    assert said_by_a_screen_reader(counted) == "Yes: Split 2: width < 2, 2 rows"
    assert [(item["name"][:11], item.get("expanded")) for item in outline(counted)][-3:] == [
        ("Yes: Split ", True),
        ("No: Leaf 2:", None),
        ("Yes: Leaf 3", None),
    ]
    assert [item["name"][:12] for item in outline(counted) if item["selected"]] == ["Yes: Split 2"]
    click_node(counted, ~3)
    assert said_by_a_screen_reader(counted).startswith("Yes: Leaf 3")  # a click leaves the focus in the tree
    press(counted, Keys.ARROW_LEFT)
    assert said_by_a_screen_reader(counted).startswith("No: Leaf 2")
    press(counted, "/", "long", Keys.ENTER)  # the focus is in the search box, so the choice is announced
    assert counted.find_element(By.ID, "say").get_attribute("textContent").startswith("Leaf 1: long")


def test_keys_zoom_and_show_help(counted):
    scale = "return explorer.view.scale"
    press(counted, Keys.ESCAPE)
    resize(counted, 600, 500)
    try:
        frame(counted)
        fitted = counted.execute_script(scale)
        press(counted, "+")
        assert counted.execute_script(scale) > fitted
        press(counted, "-", "-")
        assert counted.execute_script(scale) == fitted
        press(counted, "+", "0")
        assert counted.execute_script(scale) == fitted
    finally:
        resize(counted, 1280, 800)
    press(counted, "?")
    assert counted.find_element(By.ID, "help").is_displayed()
    press(counted, Keys.ESCAPE)
    assert not counted.find_element(By.ID, "help").is_displayed()


PIXEL = """
const copy = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
copy.drawImage(document.getElementById("drawing"), 0, 0);
return [...copy.getImageData(2, 2, 1, 1).data.slice(0, 3)];
"""


def test_dark_mode_follows_the_system_and_the_button(counted):
    def back() -> str:
        return counted.execute_script("return getComputedStyle(document.body).backgroundColor")

    def corner() -> list[int]:
        frame(counted)
        return counted.execute_script(PIXEL)

    light, light_corner = back(), corner()
    counted.find_element(By.ID, "theme").click()
    dark, dark_corner = back(), corner()
    assert sum(dark_corner) < 150 < 600 < sum(light_corner)
    assert dark != light
    assert counted.find_element(By.ID, "theme").get_attribute("aria-pressed") == "true"
    counted.find_element(By.ID, "theme").click()
    assert (back(), corner()) == (light, light_corner)
    media = "Emulation.setEmulatedMedia"
    counted.execute_cdp_cmd(media, {"features": [{"name": "prefers-color-scheme", "value": "dark"}]})
    counted.refresh()
    assert back() == dark
    counted.execute_cdp_cmd(media, {"features": [{"name": "prefers-color-scheme", "value": "light"}]})


def test_wheel_zooms_and_drag_pans(counted):
    resize(counted, 800, 600)
    try:
        frame(counted)
        canvas = counted.find_element(By.ID, "drawing")
        place = "return [explorer.view.left, explorer.view.top, explorer.view.scale]"
        left, top, scale = counted.execute_script(place)
        ActionChains(counted).scroll_from_origin(ScrollOrigin.from_element(canvas, 0, 150), 0, -300).perform()
        zoomed = counted.execute_script(place)
        assert zoomed[2] > scale
        ActionChains(counted).move_to_element_with_offset(canvas, 0, 200).click_and_hold().move_by_offset(
            40, -25
        ).release().perform()
        assert counted.execute_script(place) == pytest.approx([zoomed[0] + 40, zoomed[1] - 25, zoomed[2]])
        assert chosen(counted) is None  # a drag is no click
        press(counted, "0")
        assert counted.execute_script(place) == pytest.approx([left, top, scale])
    finally:
        resize(counted, 1280, 800)


NASTY = [
    "</script><script>window.broken = 1</script>",
    "<img src=x onerror='window.broken = 1'>",
    "\"'`&amp;{{model}}<!--",
    "Länge μ 長さ 🌲 \u2028 \u202e",
    "w" * 5000,
]


def test_names_are_shown_and_never_run(open_page, tmp_path):
    weight = np.eye(3, 5) + 1.0
    encoder = Encoder([*(Column(name) for name in NASTY[:4]), Column(NASTY[4], categories=[NASTY[0]])])
    tree = Tree(SMALL.topology, weight, [0.0, 0.0, 0.0], np.full((4, 5), 0.2), class_names=NASTY)
    rows = np.array([[0.0, 1.0, 2.0, 3.0, NASTY[0]]], dtype=object)
    browser = open_page(to_html(Model(encoder, tree), tmp_path / "page.html", rows, [NASTY[1]], title=NASTY[0]))
    for node in (0, -1):
        browser.execute_script("explorer.choose(arguments[0])", node)
    browser.find_element(By.ID, "tab-path").click()
    press(browser, "/", "<img")
    frame(browser)
    assert browser.execute_script("return window.broken") is None
    assert browser.find_elements(By.CSS_SELECTOR, "img, iframe") == []
    assert browser.title == NASTY[0]
    assert browser.find_element(By.TAG_NAME, "h1").text == NASTY[0]
    labels = [label.get_attribute("title") for label in browser.find_elements(By.CSS_SELECTOR, ".field > label")]
    assert labels == NASTY
    assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")


def test_names_are_data_and_roles_are_set(counted):
    for name in ("search", "theme", "keys", "tree", "zoom-in", "field-0", "row"):
        element = counted.find_element(By.ID, name)
        assert element.accessible_name, name
    assert counted.find_element(By.ID, "tree").aria_role == "tree"
    assert [tab.aria_role for tab in counted.find_elements(By.CSS_SELECTOR, ".tabs button")] == ["tab"] * 3
    counted.find_element(By.ID, "tab-whatif").send_keys(Keys.ARROW_RIGHT)
    assert counted.switch_to.active_element.get_attribute("id") == "tab-path"


def test_pictures_for_image_like_columns(open_page, tmp_path, keep):
    rng = np.random.default_rng(0)
    tree = Tree(Topology.complete(2), rng.normal(size=(3, 12)), np.zeros(3), np.eye(4)[:, :4], class_names=list("abcd"))
    X = rng.integers(0, 9, size=(50, 12)).astype(float)
    browser = open_page(to_html(tree, tmp_path / "page.html", X, image_shape=(3, 4)))
    size = "const c = document.querySelector(arguments[0]); return [c.height, c.width]"
    assert browser.execute_script(size, "#whatif canvas") == [3, 4]
    before = browser.execute_script("return Array.from(explorer.evaluate([0,0,0,0,0,0,0,0,0,0,0,0]).features)")
    canvas = browser.find_element(By.CSS_SELECTOR, "#whatif canvas")
    browser.find_element(By.CSS_SELECTOR, ".painter button").click()
    assert before == [0.0] * 12
    ActionChains(browser).move_to_element(canvas).click().perform()
    painted = browser.execute_script("return Array.from(explorer.state.result.features)")
    assert max(painted) == 8.0
    for node in (0, -1):
        browser.execute_script("explorer.choose(arguments[0])", node)
        assert browser.execute_script(size, "#node canvas") == [3, 4]
    keep(browser, "image")


@pytest.mark.parametrize("name", ["iris", "diabetes"])
def test_pages_of_estimators_fit_wide_and_narrow_windows(open_page, tmp_path, keep, name):
    if name == "iris":
        data = load_iris(as_frame=True)
        X, y = data.data, data.target_names[data.target]
        estimator = DTSemNetClassifier(max_depth=2, n_init=1, max_iter=20, random_state=0).fit(X, y)
    else:
        data = load_diabetes(as_frame=True, scaled=False)
        X, y = data.data, data.target
        estimator = DTSemNetRegressor(max_depth=3, n_init=1, max_iter=20, random_state=0).fit(X, y)
    browser = open_page(to_html(estimator, tmp_path / "page.html", X, y, title=name))
    assert browser.find_element(By.ID, "summary").text.endswith(f"on {len(X)} rows")
    for width, theme in [(1280, "light"), (1280, "dark"), (390, "light")]:
        resize(browser, width, 800)
        if browser.execute_script("return document.documentElement.dataset.theme") != theme:
            browser.find_element(By.ID, "theme").click()
        frame(browser)
        keep(browser, f"{name}-{width}-{theme}")
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        shown = browser.execute_script("return explorer.drawing.placed.length")
        assert shown == estimator.tree_.n_splits + estimator.tree_.n_leaves
    resize(browser, 1280, 800)


FRAMES = """
const done = arguments[0], { view, drawing, state } = explorer, times = [], drawn = [], gaps = [];
let last = performance.now();
function step(k) {
  const now = performance.now(); gaps.push(now - last); last = now;
  if (k < 20) view.zoom(1.4, 300); else if (k < 40) view.pan(-60, 0); else view.zoom(1 / 1.4, 500);
  drawing.draw(state);
  times.push(drawing.stats.milliseconds); drawn.push(drawing.stats.nodes + drawing.stats.edges);
  if (k < 60) requestAnimationFrame(() => step(k + 1)); else done({ times, drawn, gaps });
}
step(0);
"""


def test_a_thousand_leaves_stay_smooth(open_page, tmp_path, keep, record_property):
    rng = np.random.default_rng(0)
    topology = Topology.complete(10)
    value = rng.dirichlet(np.full(5, 0.3), size=1024)
    tree = Tree(topology, rng.normal(size=(1023, 20)), rng.normal(size=1023), value, class_names=list("abcde"))
    browser = open_page(to_html(tree, tmp_path / "page.html", rng.normal(size=(5000, 20))))
    keep(browser, "depth-10")
    found = browser.execute_async_script(FRAMES)
    for name in ("times", "gaps"):
        record_property(f"median {name} ms", float(np.median(found[name])))
    # The whole tree is 2,047 nodes and 2,046 edges; zoomed in, only what is in sight is drawn.
    assert min(found["drawn"]) < 200
    assert np.median(found["times"]) < 50
    resize(browser, 390, 800)
    try:
        frame(browser)
        assert browser.execute_script("return explorer.drawing.stats.nodes") < 1200
        assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    finally:
        resize(browser, 1280, 800)


def test_the_work_of_a_frame_is_bounded_by_the_window(open_page, tmp_path):
    topology = Topology.complete(12)
    weight = np.random.default_rng(0).normal(size=(topology.n_splits, 2))
    tree = Tree(topology, weight, np.zeros(topology.n_splits), np.zeros((topology.n_leaves, 1)))
    browser = open_page(to_html(tree, tmp_path / "page.html"))
    frame(browser)
    stats = browser.execute_script("return explorer.drawing.stats")
    assert stats["nodes"] + stats["edges"] < 5000 < 16381  # nodes and edges of the whole tree
    placed = browser.execute_script("return explorer.drawing.placed.map(({ id }) => id)")
    assert ~int(tree.apply([[0.0, 0.0]])[0]) in placed  # the path is drawn to its end


def test_a_regressor_with_131072_leaves_has_a_page(open_page, tmp_path):
    topology = Topology.complete(17)
    value = np.arange(topology.n_leaves, dtype=float)[:, None]
    weight = np.random.default_rng(0).normal(size=(topology.n_splits, 2))
    tree = Tree(topology, weight, np.zeros(topology.n_splits), value)
    browser = open_page(to_html(tree, tmp_path / "page.html"))
    leaf = int(tree.apply([[0.0, 0.0]])[0])
    assert shown_leaf(browser) == str(leaf)
    assert text(browser, "legend") == "0\n131,000"
    press(browser, Keys.ESCAPE, Keys.ARROW_DOWN, Keys.END, Keys.ARROW_RIGHT)
    assert chosen(browser) == ~(leaf + 1)
    press(browser, "/", "leaf 131071", Keys.ENTER)
    assert chosen(browser) == ~131071
    frame(browser)
    assert ~131071 in browser.execute_script("return explorer.drawing.placed.map(({ id }) => id)")
    assert len(outline(browser)) < 80  # and no item for every leaf


def test_a_tree_without_splits_has_a_page(open_page, tmp_path):
    leaf = Tree(Topology([]), np.empty((0, 1)), [], [[0.25, 0.75]], class_names=["a", "b"])
    browser = open_page(to_html(leaf, tmp_path / "page.html"))
    assert shown_leaf(browser) == "0"
    assert "All inputs." in (browser.execute_script("explorer.choose(-1)") or text(browser, "node"))


def test_leaves_out_of_reach_and_the_share_certified_are_shown(open_page, tmp_path, keep):
    report = audit(SMALL, Domain([2.0, 0.0], [4.0, 6.0]), ROWS[2:], epsilon=[0.5])
    browser = open_page(to_html(SMALL, tmp_path / "proofs.html", ROWS, title="Proofs", proofs=report))
    assert report.leaves.unreachable == [0, 1]  # the domain lies right of the first split
    assert "2 leaves proved unreachable" in text(browser, "summary")
    assert str(report.certified[0]) in text(browser, "summary")
    click_node(browser, ~1)
    assert "Proved: no input of the domain reaches this leaf, because" in text(browser, "node")
    click_node(browser, ~2)
    assert "Proved: an input of the domain reaches this leaf." in text(browser, "node")
    browser.find_element(By.ID, "search").send_keys("unreachable")
    frame(browser)
    assert sorted(browser.execute_script("return [...explorer.state.hits]")) == [~1, ~0]
    keep(browser, "proofs")


def test_a_page_without_proofs_says_nothing_about_them(small):
    assert "proved" not in text(small, "summary")
    click_node(small, ~1)
    assert "Proved" not in text(small, "node")
