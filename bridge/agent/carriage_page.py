"""``python -m bridge.agent.carriage_page`` prints docs/reference/carriage.md from the carriage table."""

from __future__ import annotations

from collections.abc import Iterator

from bridge.agent.carriage import CARRIAGE, Carried

_HEAD = """\
# Which way carries which field of a job

A job reaches slurmctld by one of two ways: **native** (pyslurm, in a child process of the slurm-agent) or
**rest** (slurmrestd). The agent picks native when it carries every field that the job sets, else rest; a
field that neither carries is refused by its name, and nothing is sent. Either way makes the record that
`sbatch` makes: a contract test submits the same job by all three and compares what `scontrol show job` says.

Two values go by rest although native has the field: a count of 0 (pyslurm takes it for "not set") and a
script without `#!`. A script that isn't UTF-8 goes by native alone, since slurmrestd takes JSON: together
with a field that only rest carries it is refused. So is a script that holds a NUL.

| Field of `JobSpec` | native: attribute of pyslurm | rest: key of slurmrestd | why not both |
|---|---|---|---|"""


def page() -> str:
    """Return the page."""
    return "\n".join([_HEAD, *_rows(), ""])


def _rows() -> Iterator[str]:
    for name, carried in CARRIAGE.items():
        yield f"| `{name}` | {_cell(carried, 'native')} | {_cell(carried, 'rest')} | {carried.why} |"


def _cell(carried: Carried, way: str) -> str:
    key = getattr(carried, way)
    return f"`{key}`" if key else "no"


if __name__ == "__main__":
    print(page(), end="")
