"""What all suites share: hypothesis profiles. Fixtures of the stack are in `tests.support`."""

from hypothesis import HealthCheck, settings

# Machines are shared: a slow example is not a failure, and a run must be repeatable.
settings.register_profile(
    "default", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("default")
