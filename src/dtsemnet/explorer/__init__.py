"""A tree as one page for the browser, to look at, to try inputs on, and to send to others."""

from dtsemnet.explorer.html import Page, explore, to_html

__all__ = ["to_html", "explore", "Page"]
