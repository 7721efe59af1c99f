"""``python -m dtsemnet`` is the command ``dtsemnet``."""

from dtsemnet.cli import main

if __name__ == "__main__":
    main()
