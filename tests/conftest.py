"""Hypothesis profiles: repeatable draws, no deadline (the first call of a kernel compiles it)."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "dtsemnet",
    deadline=None,
    derandomize=True,
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("dtsemnet")
