"""What lint tells about scripts that sbatch takes without a word."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bridge.sbatch import hints, parse
from tests.unit.sbatch.description import context_of


def said(text: str, *, variables: dict[str, str] | None = None, arguments: tuple[str, ...] = ()) -> str:
    script = f"#!/bin/sh\n{text}\n".encode()
    context = context_of("job.sh", now=datetime(2026, 11, 30, tzinfo=UTC))
    parsed = parse(script, arguments=arguments, variables=variables or {}, context=context)
    return "\n".join(f"{hint.line}: {hint.message}" for hint in hints(script, parsed))


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("hostname\n#SBATCH -n2", "3: this directive comes after the first command"),
        ("# SBATCH -n2", "2: this line is a comment"),
        (" #SBATCH -n2", "2: this line is a comment"),
        ("#sbatch -n2", "2: this line is a comment"),
        ("#SBATCH -t 90", "2: --time=90 is 90 minutes"),
        ("#SBATCH -o $HOME/out", "2: --output=$HOME/out is taken as it is"),
        ("true", "no --time is said"),
    ],
)
def test_what_may_be_meant_otherwise(text: str, hint: str) -> None:
    assert hint in said(text)


def test_memory_that_counts_for_nothing() -> None:
    found = said("#SBATCH --mem-per-cpu=1G", variables={"SBATCH_MEM_PER_NODE": "5"})
    assert "--mem counts for nothing: memory is asked by --mem-per-cpu or --mem-per-gpu" in found


def test_a_clean_script_has_no_hints() -> None:
    assert said("#SBATCH -t 1:30:00 -n2\nhostname") == ""
