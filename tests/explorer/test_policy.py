"""The page under a Content-Security-Policy: its own, and stricter ones that a server sends."""

from __future__ import annotations

import re
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from dtsemnet.explorer import to_html
from dtsemnet.tree import Column, Encoder, Model, Topology, Tree
from explorer.conftest import frame

HOSTILE = [
    "</script><script>window.broken = 1</script>",
    "<img src=x onerror='window.broken = 1'>",
    "\"'`&amp;{{model}}{{script}}<!--",
    "</title></style></p><svg onload='window.broken = 1'>",
    "javascript:window.broken=1//\x00\x1b[2J\u2028\u202e",
]
STRICT = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:"


def hostile_model() -> Model:
    encoder = Encoder([*(Column(name) for name in HOSTILE[:4]), Column(HOSTILE[4], categories=HOSTILE)])
    rng = np.random.default_rng(0)
    weight, value = rng.normal(size=(3, encoder.n_features)), np.eye(5)[:4]
    return Model(encoder, Tree(Topology.complete(2), weight, np.zeros(3), value, class_names=HOSTILE))


def hostile_page(path, **options):
    rows = np.array([[0.0, 1.0, 2.0, 3.0, name] for name in HOSTILE], dtype=object)
    return to_html(hostile_model(), path, rows, HOSTILE, title=HOSTILE[0], **options)


@pytest.fixture
def serve(tmp_path):
    """Serve the folder with a policy."""
    servers = []

    class Handler(SimpleHTTPRequestHandler):
        policy = ""

        def end_headers(self):
            if self.policy:
                self.send_header("Content-Security-Policy", self.policy)
            super().end_headers()

        def log_message(self, *_):
            pass

    def serve_(policy: str) -> str:
        handler = type("WithPolicy", (Handler,), {"policy": policy})
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(tmp_path)))
        servers.append(server)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return f"http://127.0.0.1:{server.server_address[1]}"

    yield serve_
    for server in servers:
        server.shutdown()
        server.server_close()


def visit(browser, address: str):
    browser.get_log("browser")
    browser.get(address)
    return browser


def walk(browser) -> None:
    """Open everything that shows a name."""
    for node in (0, 1, -1, -4):
        browser.execute_script("explorer.choose(arguments[0])", node)
    for tab in ("tab-path", "tab-node", "tab-whatif", "keys", "help-close", "theme"):
        browser.find_element(By.ID, tab).click()
    browser.find_element(By.ID, "search").send_keys("<img")
    frame(browser)


def assert_runs_and_nothing_breaks_out(browser) -> None:
    walk(browser)
    assert browser.execute_script("return window.broken") is None
    assert browser.find_elements(By.CSS_SELECTOR, "img, iframe, svg, #blocked") == []
    shown = [label.get_attribute("title") for label in browser.find_elements(By.CSS_SELECTOR, ".field > label")]
    assert shown == HOSTILE
    assert browser.find_element(By.ID, "answer").get_attribute("data-leaf") is not None
    assert browser.execute_script("return getComputedStyle(document.body).margin") == "0px"  # the style is there, too
    assert browser.get_log("browser") == []


def test_the_policy_of_the_page_allows_nothing_inline_but_its_own(tmp_path):
    text = hostile_page(tmp_path / "page.html").read_text(encoding="utf-8")
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)[1]
    assert "unsafe" not in policy
    assert re.search(r"script-src 'sha256-[\w+/]{43}='; style-src 'sha256-[\w+/]{43}='", policy)
    assert not re.search(r"\sstyle=|\son\w+=|\beval\(|new Function", text.split('<script type="application/json"')[0])


@pytest.mark.parametrize("separate", [False, True])
@pytest.mark.parametrize("place", ["disk", "server"])
def test_names_run_nothing_under_the_policy_of_the_page(place, separate, browser, serve, tmp_path):
    path = hostile_page(tmp_path / "it's a page.html", separate=separate)
    address = path.as_uri() if place == "disk" else f"{serve('')}/it's%20a%20page.html"
    assert_runs_and_nothing_breaks_out(visit(browser, address))


def test_separate_files_run_where_a_server_allows_only_files(browser, serve, tmp_path):
    hostile_page(tmp_path / "page.html", separate=True)
    assert_runs_and_nothing_breaks_out(visit(browser, f"{serve(STRICT)}/page.html"))


def test_one_file_runs_where_a_server_allows_its_hashes(browser, serve, tmp_path):
    text = hostile_page(tmp_path / "page.html").read_text(encoding="utf-8")
    allowed = re.search(r"<code>(script-src [^<]*)</code>", text)[1]
    policy = f"default-src 'none'; {allowed}; img-src data:"
    assert_runs_and_nothing_breaks_out(visit(browser, f"{serve(policy)}/page.html"))


@pytest.mark.parametrize(
    "policy", ["default-src 'none'; script-src 'self'", STRICT, "script-src 'nonce-abc'; style-src 'nonce-abc'"]
)
def test_a_page_whose_script_is_blocked_says_so_instead_of_being_blank(policy, browser, serve, tmp_path):
    hostile_page(tmp_path / "page.html")
    visit(browser, f"{serve(policy)}/page.html")
    sentence = WebDriverWait(browser, 20).until(lambda b: b.find_element(By.ID, "blocked").text)
    assert "The script of this page did not run" in sentence
    assert "separate=True" in sentence
    assert browser.execute_script("return window.broken") is None
    browser.get_log("browser")  # what the browser says about the refusals


def test_separate_files_do_not_replace_the_page(tmp_path):
    with pytest.raises(ValueError, match="is the name of the script or the style"):
        hostile_page(tmp_path / "page.js", separate=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == []
