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

import pytest

from bridge.errors import ScriptError
from bridge.sbatch import SubmitContext, parse
from tests.unit.sbatch.description import Answer, context_of, judge, script_of, variables_of

DATA = Path(__file__).parents[2] / "data" / "sbatch"

OTHER_JUDGES = {
    "063-reboot.sbatch": "slurmctld refuses it to users",
    "330-clusters-own.sbatch": "sbatch asks slurmdbd for the cluster, which the recording cluster has not",
}


def answers(file: str) -> list[Answer]:
    return [json.loads(line) for line in (DATA / file).read_text().splitlines()]


@pytest.mark.parametrize("answer", answers("cases.jsonl"), ids=lambda answer: answer["name"])
def test_a_case_is_judged_as_by_real_sbatch(answer: Answer) -> None:
    name = answer["name"]
    if name in OTHER_JUDGES:
        assert judge(answer)[0].startswith("we take"), OTHER_JUDGES[name]
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
