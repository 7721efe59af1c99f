"""``python -m dtsemnet.bench`` is the command ``dtsemnet bench``."""

import sys

from dtsemnet.cli import main

if __name__ == "__main__":
    main(["bench", *sys.argv[1:]])
