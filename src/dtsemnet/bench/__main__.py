"""``python -m dtsemnet.bench`` is the command ``dtsemnet bench``."""

import sys

# The one arrow from bench to cli: an entry point is not imported by anything, and the options are written once, there.
from dtsemnet.cli import main

if __name__ == "__main__":
    main(["bench", *sys.argv[1:]])
