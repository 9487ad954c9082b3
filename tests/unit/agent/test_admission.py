"""What of Slurm's commands is run on behalf of a user: read as getopt reads it, written anew."""

from __future__ import annotations

import shlex

import pytest

from bridge.agent.admission import admitted
from bridge.errors import InputError


@pytest.mark.parametrize(
    ("line", "run"),
    [
        ("squeue", "squeue"),
        ("squeue -hrj 17,18 -o '%i %T'", "squeue --noheader --array --jobs --format='%i %T' -- 17,18"),
        ("squeue -hj17 -u ada", "squeue --noheader --jobs=17 --user=ada"),
        ("squeue --me --json", "squeue --json --users=ann"),
        ("sacct -X -P", "sacct --allocations --parsable2 --user=ann"),
        ("sacct -nj 5 --form=JobID", "sacct --noheader --jobs=5 --format=JobID"),
        ("sacct -a", "sacct --allusers"),
        ("sinfo -No %N", "sinfo --Node --format=%N"),
        ("scancel --me -t PD", "scancel --state=PD --user=ann"),
        ("scancel 5 -s KILL 6", "scancel --signal=KILL -- 5 6"),
        ("scontrol -o show job 5 -d", "scontrol --oneliner --details -- show job 5"),
        ("scontrol update JobId=5 TimeLimit=9", "scontrol -- update JobId=5 TimeLimit=9"),
        ("scontrol --version", "scontrol --version"),
        ("sacctmgr -nP show user ann format=account%256", "sacctmgr --noheader --parsable2 -- show user ann"),
        ("sshare -U", "sshare --Users --users=ann"),
        ("sbatch --version", "sbatch --version"),
    ],
)
def test_a_line_is_read_and_written_anew(line: str, run: str) -> None:
    words = shlex.split(line)
    wanted = shlex.split(run)
    assert admitted(words, "ann")[: len(wanted)] == wanted


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("squeue -hi5", "--iterate is not taken"),
        ("squeue --iter=5", "--iterate is not taken"),
        ("squeue --foo", "squeue: unrecognized option '--foo'"),
        ("sinfo -i 3", "--iterate is not taken"),
        ("sacct -f /etc/slurm/slurm.key", "--file is not taken"),
        ("scancel -i 5", "--interactive is not taken"),
        ("scontrol", "no command"),
        ("scontrol token", "scontrol: token"),
        ("scontrol -o token lifespan=9", "scontrol: token"),
        ("scontrol -u root update JobId=5", "--uid is not taken"),
        ("scontrol reconfigure", "scontrol: reconfigure"),
        ("scontrol show hostlist /etc/slurm/slurm.key", "a file with host names"),
        ("scontrol -- show hostlistsorted /etc/passwd", "a file with host names"),
        ("scontrol show slurmd", "scontrol show: slurmd"),
        ("scontrol write config /tmp/x", "scontrol: write"),
        ("sacctmgr -i delete user ann", "it only shows"),
        ("sacctmgr", "it only shows"),
        ("sbatch job.sh", "POST /v1/jobs"),
        ("bash -c id", "'bash' is not one of"),
        ("squeue a\0b", "NUL"),
    ],
)
def test_what_reads_files_runs_on_or_makes_tokens_is_refused(line: str, words: str) -> None:
    with pytest.raises(InputError) as refused:
        admitted(line.split(), "ann")
    assert words in refused.value.message


def test_nothing_is_a_refusal_too() -> None:
    with pytest.raises(InputError):
        admitted([], "ann")
