"""The parser against what real sbatch (26.05.5, an ordinary user) said and sent.

`tests/data/sbatch/scripts` are the hand-made cases, `cases.jsonl` the answers to them; `generated.jsonl`
holds generated scripts with their answers. `expected.tsv` has the verdicts of the whole submission (as
root), of which the parser knows those of the client.
"""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bridge.errors import ScriptError
from bridge.sbatch import SubmitContext, parse
from tests.unit.sbatch.description import CALLER, context_of, differences

DATA = Path(__file__).parents[2] / "data" / "sbatch"

OTHER_JUDGES = {
    "063-reboot.sbatch": "slurmctld refuses it to users",
    "330-clusters-own.sbatch": "sbatch asks slurmdbd for the cluster, which the recording cluster has not",
}
NOT_YET = {
    *("123-het-basic.sbatch", "417-het-three.sbatch", "420-het-upper-comment.sbatch"),
    "423-het-dup-per-part.sbatch",
}
"""Heterogeneous jobs are refused by name."""

Answer = dict[str, Any]


def answers(file: str) -> list[Answer]:
    return [json.loads(line) for line in (DATA / file).read_text().splitlines()]


def script_of(answer: Answer) -> bytes:
    if "script" in answer:
        text: str = answer["script"]
        return text.encode("latin-1")
    return (DATA / "scripts" / str(answer["name"])).read_bytes()


def variables_of(name: str) -> dict[str, str]:
    beside = (DATA / "scripts" / name).with_suffix(".env")
    if not beside.exists():
        return {}
    return dict(line.split("=", 1) for line in beside.read_text().splitlines() if line)


def judge(answer: Answer) -> list[str]:
    """Return how the parser differs from real sbatch."""
    variables = {**CALLER, **answer.get("variables", {})}
    if "script" not in answer:
        variables |= variables_of(answer["name"])
    context = context_of(
        None if answer.get("stdin") else answer["name"],
        environment=variables,
        now=datetime.fromtimestamp(answer["asked_at"], UTC),
    )
    try:
        parsed = parse(
            script_of(answer), arguments=answer.get("arguments", []), variables=variables, context=context
        )
    except ScriptError as error:
        said = (error.details["exit_code"], error.details["slurm_words"])
        wanted = (answer["exit_code"], answer.get("words"))
        return [] if said == wanted else [f"ours {said}, sbatch {wanted}"]
    if "sent" not in answer:
        return [f"we take what sbatch refuses: {answer['words']}"]
    sent = dict(answer["sent"])
    outer = ("SLURM_MEM_PER_CPU", "SLURM_TIMELIMIT", "SLURM_JOB_NAME", "SLURM_JOB_ID")
    spec = parsed.spec
    known = {name: value for name, value in spec.environment.items() if name not in outer}
    known = {name: value for name, value in known.items() if not name.startswith("SBATCH_")}
    sent["environment"] = {k: v for k, v in sent["environment"].items() if k not in outer}
    object.__setattr__(spec, "environment", known)
    return differences(spec, sent)


@pytest.mark.parametrize("answer", answers("cases.jsonl"), ids=lambda answer: answer["name"])
def test_a_case_is_judged_as_by_real_sbatch(answer: Answer) -> None:
    name = answer["name"]
    if name in OTHER_JUDGES:
        assert judge(answer)[0].startswith("we take"), OTHER_JUDGES[name]
        return
    if name in NOT_YET:
        with pytest.raises(ScriptError, match="hetjob"):
            parse(script_of(answer), context=now_of(name))
        return
    assert judge(answer) == []


def now_of(name: str) -> SubmitContext:
    return context_of(name, now=datetime(2026, 11, 30, tzinfo=UTC))


def test_generated_scripts_are_judged_as_by_real_sbatch() -> None:
    wrong = {answer["name"]: judge(answer) for answer in answers("generated.jsonl")}
    assert {name: said for name, said in wrong.items() if said} == {}


def test_the_client_s_verdicts_of_the_whole_submission_are_ours() -> None:
    with (DATA / "expected.tsv").open(newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    assert len(rows) == 170
    for row in rows:
        name = f"{row['script']}.sbatch"
        if name in NOT_YET:
            continue
        context = now_of(name)
        try:
            parse(script_of({"name": name}), variables=variables_of(name), context=context)
            refused = ""
        except ScriptError as error:
            refused = str(error.details["slurm_words"])
            assert error.details["exit_code"] == int(row["rc"]), name
        theirs = (
            row["sbatch_text"].replace("\\\\", "\\").replace("\\n", "\n") if row["stage"] == "client" else ""
        )
        assert refused.replace("\\", "") == theirs.replace("\\", ""), name
