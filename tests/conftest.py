"""What all suites share: hypothesis profiles, and the fixtures of the running stack."""

from hypothesis import HealthCheck, settings

from tests.support.effort import examples

pytest_plugins = ("tests.support.stack",)

# Machines are shared: a slow example is not a failure, and a run must be repeatable.
settings.register_profile(
    "default",
    deadline=None,
    derandomize=True,
    max_examples=examples(40),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("default")
