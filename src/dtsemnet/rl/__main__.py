"""``python -m dtsemnet.rl`` is the command ``dtsemnet rl``."""

import sys

# The one arrow from rl to cli: an entry point is not imported by anything, and the options are written once, there.
from dtsemnet.cli import main

if __name__ == "__main__":
    main(["rl", *sys.argv[1:]])
