"""The verbs that the workshop adds to ``dtsemnet rl``."""
