"""Leave scripts that need atheris, which is optional, to ``make fuzz``."""

collect_ignore_glob = ["atheris_*.py"]
