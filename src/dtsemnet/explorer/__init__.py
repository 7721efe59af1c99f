"""A tree as one page for the browser: look at it, ask it, send it on."""

from dtsemnet.explorer.html import to_html

__all__ = ["to_html"]
