"""Files of the repository as pages of the site, and links that hold in both.

The documents are read in two places: in the repository, where a link names a file, and on the site, where it names a
page. Files outside ``docs``, such as the changelog, appear on the site through a page that holds nothing but a link to
the file: its place is taken by the content of the file. Links to files that are pages lead to the pages; links to other
files of the repository, such as scripts, become their names.
"""

from __future__ import annotations

import re
from os.path import normpath, relpath
from pathlib import Path, PurePosixPath
from typing import Any

DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent
WHOLE_PAGE = re.compile(r"\[[^\]]*\]\(([^)#]+)\)\s*")
LINK = re.compile(r"(?P<image>!?)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^)\s#]*)(?P<anchor>#[^)\s]*)?\)")
FENCE = re.compile(r"^(```+|~~~+).*?^\1\s*$", re.MULTILINE | re.DOTALL)


def whole_page(text: str, page: PurePosixPath) -> str | None:
    """Name the file whose content a page shows, if the page holds nothing but a link to it."""
    match = WHOLE_PAGE.fullmatch(text)
    return None if match is None else normpath(page.parent / match[1])


def pages_of_files() -> dict[str, str]:
    """For each file of the repository that is a page of the site, the page, both relative to the root."""
    found = {}
    for path in sorted(DOCS.rglob("*.md")):
        page = PurePosixPath(path.relative_to(ROOT).as_posix())
        if "_build" not in page.parts:
            found[str(page)] = str(page)
            shown = whole_page(path.read_text(encoding="utf-8"), page)
            if shown is not None:
                found[shown] = str(page)
    for path in sorted((ROOT / "examples").glob("*.py")):
        if path.name != "demo.py":
            found[f"examples/{path.name}"] = f"docs/gallery/{path.stem}.rst"
    found["examples"] = "docs/gallery/index.rst"
    found["README.md"] = "docs/index.md"
    return found


def rewrite(text: str, file: PurePosixPath, page: PurePosixPath, pages: dict[str, str]) -> str:
    """Make the links of ``file`` hold on ``page``, which shows it."""

    def link(match: re.Match[str]) -> str:
        target, anchor = match["target"], match["anchor"] or ""
        if not target or re.match(r"[a-z]+:", target) or target.startswith("/"):
            return match[0]
        place = normpath(file.parent / target)
        if not (ROOT / place).exists():
            return match[0]  # a page that the build makes
        if match["image"]:
            return f"![{match['text']}]({relpath(place, page.parent)})"
        if place in pages:
            return f"[{match['text']}]({relpath(pages[place], page.parent)}{anchor})"
        return match["text"] if "`" in match["text"] else f"{match['text']} (`{place}`)"

    parts, start = [], 0
    for fence in FENCE.finditer(text):
        parts += [LINK.sub(link, text[start : fence.start()]), fence[0]]
        start = fence.end()
    return "".join([*parts, LINK.sub(link, text[start:])])


def read_source(app: Any, name: str, source: list[str]) -> None:
    path = Path(app.env.doc2path(name))
    if path.suffix != ".md":
        return
    page = PurePosixPath(path.relative_to(ROOT).as_posix())
    file, text = page, source[0]
    shown = whole_page(text, page)
    if shown is not None:
        file, text = PurePosixPath(shown), (ROOT / shown).read_text(encoding="utf-8")
        app.env.note_dependency(str(ROOT / shown))
    source[0] = rewrite(text, file, page, app.repository_pages)


def setup(app: Any) -> dict[str, bool]:
    app.repository_pages = pages_of_files()
    app.connect("source-read", read_source)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
