"""The verbs that the workshop adds to the command ``dtsemnet``."""
