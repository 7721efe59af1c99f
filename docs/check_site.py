"""Check the site that was built: every link inside it leads somewhere, and every public name has its page,
where types are words and not labels that nothing resolved.

    python docs/check_site.py docs/_build/html

Links to other sites are counted and not checked, since a build must not depend on a network; ``--external`` lists them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sphinx.util.inventory import InventoryFile

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from api_pages import public_names


class _Page(HTMLParser):
    """Links and anchors of one page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif (
                name in ("href", "src") and value is not None and not (tag == "link" and ("rel", "canonical") in attrs)
            ):
                self.links.append(value)


@cache
def read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def pages(site: Path) -> list[Path]:
    """The pages; those of the explorer load nothing and link to nothing, and the theme brings templates along."""
    return sorted(path for path in site.rglob("*.html") if path.relative_to(site).parts[0] not in ("live", "_static"))


def broken_links(site: Path) -> Iterator[str]:
    """Name the links inside the site that lead nowhere."""
    for path in pages(site):
        for link in read(path).links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target = target / "index.html"
            if not target.exists():
                yield f"{path.relative_to(site)}: {link}: no such file"
            elif parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in read(target).anchors:
                yield f"{path.relative_to(site)}: {link}: no such place on the page"


def external_links(site: Path) -> list[str]:
    """List the links that lead out of the site."""
    links = {link for path in pages(site) for link in read(path).links}
    return sorted(link for link in links if urlsplit(link).scheme in ("http", "https"))


def undocumented(site: Path) -> Iterator[str]:
    """Name the public objects that have no entry in the index of the site."""
    with (site / "objects.inv").open("rb") as file:
        inventory = InventoryFile.load(file, "", lambda base, uri: uri)
    known = {name for kind, names in inventory.items() if kind.startswith("py:") for name in names}
    for public in public_names():
        if not {public.page, f"{public.package}.{public.name}"} & known:
            yield f"{public.package}.{public.name}: no page"


def labels_left(site: Path) -> Iterator[str]:
    """Name the pages where a label of another inventory stands in place of a type."""
    for path in pages(site):
        if path.relative_to(site).parts[0] == "api" and "bltin-" in path.read_text(encoding="utf-8"):
            yield f"{path.relative_to(site)}: a label (bltin-...) in place of a type"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", type=Path)
    parser.add_argument("--external", action="store_true", help="list the links to other sites")
    arguments = parser.parse_args()
    site = arguments.site.resolve()
    problems = [*broken_links(site), *undocumented(site), *labels_left(site)]
    external = external_links(site)
    n_links = sum(len(read(path).links) for path in pages(site))
    print(f"{len(pages(site))} pages, {n_links:,} links, {len(public_names())} public names: {len(problems)} problems")
    print(f"{len(external)} links to other sites, not checked")
    if arguments.external:
        print("\n".join(f"  {link}" for link in external))
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
