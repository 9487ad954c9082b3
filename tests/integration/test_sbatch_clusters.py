"""Each hand-made script by real sbatch and by our own way, on controllers without policy: verdict and record.

As an ordinary user, real sbatch asked afresh. Held for the record, since a job that starts differs by when it
does; not held for the verdict, since what only the scheduler knows is not judged of a held job.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from bridge.errors import ScriptError, SlurmRefused, Unsupported
from bridge.sbatch import ParsedScript, parse
from tests.integration.sbatch_oracle.controller import Controller, Record, controller
from tests.integration.sbatch_oracle.oracle import hand_made
from tests.integration.test_sbatch_differential import VOLATILE
from tests.support.stack import STACK_NAME, Stack, run
from tests.unit.sbatch.description import CALLER, context_of
from tests.unit.sbatch.generator import Case

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

WAITS = "077-wait.sbatch"
"""sbatch would wait for a job that never runs here."""
UNHEARD = {"240-mincpus-tmp.sbatch"}
"""slurmctld tells sbatch a reason beside its error, which slurmrestd loses and will-run doesn't know."""
UNHEARD = {"240-mincpus-tmp.sbatch"}
"""slurmctld tells sbatch a reason beside its error, which slurmrestd loses and will-run does not know."""
FAILED = "Batch job submission failed: "
RELATIVE = {"083-deadline.sbatch": "Deadline"}
"""Script to the field that hangs on the moment of the submission."""
EMPTY = {"210-constraint-empty-equals.sbatch": "Features"}
"""Script to the field that sbatch sends as an empty text, and neither pyslurm nor slurmrestd can."""
ELSEWHERE = {"330-clusters-own.sbatch": "sbatch asks slurmdbd for the cluster, and there is none"}


@pytest.fixture(scope="module", params=["ctl", pytest.param("rich", marks=pytest.mark.slow)])
def cluster(stack: Stack, request: pytest.FixtureRequest) -> Iterator[Controller]:
    """A controller with three jobs, whom dependencies name."""
    image = run(["docker", "inspect", "--format={{.Image}}", stack.container("agent")]).stdout.strip()
    with controller(image, STACK_NAME, request.param) as made:
        made.sbatch([Case(f"seed-{number}", b"#!/bin/sh\n") for number in range(3)], "-H")
        yield made


def asked() -> list[Case]:
    return [case for case in hand_made() if case.name != WAITS and case.name not in ELSEWHERE]


def ours(cluster: Controller, case: Case, *words: str) -> int | str:
    """Submit by the parser and the agent; returns the job's number, or what sbatch would say."""
    try:
        parsed = read(cluster, case, *words)
        if len(parsed.specs) > 1:
            return cluster.slurm.submit_het(parsed.specs, user="ada").job_id
        return cluster.slurm.submit(parsed.spec, user="ada").job_id
    except ScriptError as error:
        return str(error.details["slurm_words"])
    except SlurmRefused as error:
        return f"sbatch: error: Batch job submission failed: {error.message}"
    except Unsupported as error:
        return f"unsupported: {error.message}"


def read(cluster: Controller, case: Case, *words: str) -> ParsedScript:
    variables = {**CALLER, **case.variables}
    now = datetime.now(UTC)
    known = cluster.slurm.cluster()
    context = context_of(
        case.name, environment=variables, now=now, gres_types=known.gres_types, cluster=known.name
    )
    return parse(case.script, arguments=[*case.arguments, *words], variables=variables, context=context)


def number_of(answer: dict[str, object]) -> int | str:
    """Real sbatch's job number, or what it said."""
    if answer["exit_code"] == 0:
        return int(str(answer["out"]).split()[-1].split(";")[0])
    return str(answer["words"])


def alike(mine: int | str, theirs: int | str) -> bool:
    """Whether both were taken, or both refused in the same words."""
    if isinstance(mine, int) or isinstance(theirs, int):
        return isinstance(mine, int) and isinstance(theirs, int)
    return said(mine) == said(theirs)


def said(words: str) -> str:
    """What was said, however it was written: slurmctld's reason is before its error, or around it."""
    lines = [line for line in words.splitlines() if "warning:" not in line]
    plain = [line.removeprefix("sbatch: error: ").removeprefix(FAILED) for line in lines]
    if len(plain) > 1 and FAILED in lines[-1]:
        return f"{' '.join(plain[:-1])} ({plain[-1]})"
    return " ".join(plain)


def test_held_they_are_judged_alike_and_make_the_same_record(cluster: Controller) -> None:
    cases = asked()
    theirs = [number_of(answer) for answer in cluster.sbatch(cases, "-H")]
    mine = [ours(cluster, case, "-H") for case in cases]
    records = cluster.records(VOLATILE)
    wrong = {
        case.name: found
        for case, a, b in zip(cases, mine, theirs, strict=True)
        if (found := difference(records, a, b, RELATIVE.get(case.name) or EMPTY.get(case.name)))
    }
    assert wrong == {}, "script: (ours, sbatch's)"


def difference(
    records: dict[int, list[Record]], mine: int | str, theirs: int | str, but: str | None
) -> object:
    if isinstance(mine, str) or isinstance(theirs, str):
        return None if alike(mine, theirs) else (mine, theirs)
    pairs = list(zip(records[mine], records[theirs], strict=False))
    found = [
        (name, a.get(name), b.get(name))
        for a, b in pairs
        for name in {*a, *b} - {but}
        if a.get(name) != b.get(name)
    ]
    return found or (None if len(records[mine]) == len(records[theirs]) else "another number of components")


def test_not_held_they_have_the_same_verdict(cluster: Controller) -> None:
    cases = asked()
    theirs = [number_of(answer) for answer in cluster.sbatch(cases)]
    mine = [ours(cluster, case) for case in cases]
    wrong = {
        case.name: (a, b)
        for case, a, b in zip(cases, mine, theirs, strict=True)
        if not alike(a, b) and not (case.name in UNHEARD and isinstance(a, str) and isinstance(b, str))
    }
    assert wrong == {}, "script: (ours, sbatch's)"
