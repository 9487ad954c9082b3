"""What sbatch works out by itself."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from bridge.agent.derive import EndWarning, minimum_cpus, warning
from bridge.errors import InputError
from bridge.job import JobSpec

PLAIN = JobSpec(script=b"#!/bin/sh\n", work_dir="/", environment={})


@pytest.mark.parametrize(
    ("fields", "cpus"),
    [
        ({}, 1),
        ({"cpus_per_task": 5}, 5),
        ({"ntasks": 4, "cpus_per_task": 3}, 12),
        ({"nodes_min": 2, "nodes_max": 2}, 2),
        ({"nodes_min": 2}, 2),
        ({"nodes_min": 1, "nodes_max": 4}, 1),
        ({"nodes_min": 2, "nodes_max": 2, "overcommit": True, "ntasks": 8}, 2),
    ],
    ids=str,
)
def test_minimum_cpus(fields: dict[str, Any], cpus: int) -> None:
    assert minimum_cpus(dataclasses.replace(PLAIN, **fields)) == cpus


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("USR1", EndWarning(10, 60, batch_only=False, overlap_reservation=False)),
        ("10", EndWarning(10, 60, batch_only=False, overlap_reservation=False)),
        ("SIGTERM@30", EndWarning(15, 30, batch_only=False, overlap_reservation=False)),
        ("B:usr2@120", EndWarning(12, 120, batch_only=True, overlap_reservation=False)),
        ("R:INT", EndWarning(2, 60, batch_only=False, overlap_reservation=True)),
        ("RB:INT@0", EndWarning(2, 0, batch_only=True, overlap_reservation=True)),
    ],
)
def test_a_warning_signal_in_parts(text: str, end: EndWarning) -> None:
    assert warning(text) == end


@pytest.mark.parametrize("text", ["", "NOPE", "B:", "USR1@soon", "X:USR1"])
def test_no_signal_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="names no signal"):
        warning(text)
