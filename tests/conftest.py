"""What all suites share: hypothesis profiles, and the fixtures of the running stack."""

import pytest
from hypothesis import HealthCheck, settings

from tests.support.effort import examples

pytest_plugins = ("tests.support.stack", "tests.support.kube")

# Machines are shared: a slow example is not a failure, and a run must be repeatable.
settings.register_profile(
    "default",
    deadline=None,
    derandomize=True,
    max_examples=examples(40),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("default")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Stop when tests that must share a worker would not: pytest-xdist marks them in their ids."""
    if not getattr(config.option, "loadgroup", False):
        return
    astray = [
        item.nodeid for item in items if item.get_closest_marker("xdist_group") and "@" not in item.nodeid
    ]
    if astray:
        raise pytest.UsageError(f"this pytest-xdist doesn't group tests with this pytest: {astray[0]}")
