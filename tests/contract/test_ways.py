"""One job by both ways and by sbatch itself: the same record in slurmctld, the same words of refusal.

Each case is a JobSpec's fields and the sbatch arguments that mean the same. What a way can't carry is
known from the carriage table, so a case tells which ways it goes.
"""

from __future__ import annotations

import re
from base64 import b64decode
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest

from bridge.agent.carriage import Way, ways
from bridge.errors import SlurmRefused
from bridge.job import JobSpec
from bridge.slurm.codec import encode
from tests.contract.scenes import RealScene

pytestmark = pytest.mark.cluster

SOON: Final = datetime.now(UTC).replace(microsecond=0) + timedelta(days=2)
SCRIPT: Final = b"#!/bin/sh\ntrue\n"

VOLATILE: Final = {
    "JobId",
    "ArrayJobId",
    "SubmitTime",
    "EligibleTime",
    "AccrueTime",
    "StartTime",
    "EndTime",
    "LastSchedEval",
    "Priority",
    "Command",
    "SubmitLine",
    "AllocNode:Sid",
    "SLUID",
}
"""What differs from job to job, and what only sbatch knows (its command line and its shell)."""

Case = tuple[dict[str, Any], str]

CASES: Final[dict[str, Case]] = {
    "plain": ({}, ""),
    "name and comments": ({"name": "n", "comment": "c d"}, "-J n --comment='c d'"),
    "typed gpus a node": ({"tres_per_node": "gres/gpu:h100:2"}, "--gres=gpu:h100:2"),
    "gpus a job": ({"tres_per_job": "gres/gpu:h100:2"}, "--gpus=h100:2"),
    "gpus a task": (
        {"tres_per_task": "gres/gpu:h100=1", "ntasks": 2, "tres_bind": "gres/gpu:per_task:1"},
        "--gpus-per-task=h100:1 -n2",
    ),
    "cpus a gpu": (
        {"tres_per_node": "gres/gpu:h100:2", "cpus_per_tres": "gres/gpu:3"},
        "--gpus-per-node=h100:2 --cpus-per-gpu=3",
    ),
    "memory a gpu": (
        {"tres_per_node": "gres/gpu:h100:2", "memory_per_tres": "gres/gpu:100", "memory_per_node_mib": None},
        "--gpus-per-node=h100:2 --mem-per-gpu=100",
    ),
    "two nodes": ({"nodes_min": 2, "nodes_max": 2}, "-N2"),
    "one or two nodes": ({"nodes_min": 1, "nodes_max": 2}, "-N1-2"),
    # Within what goes with a job without GPUs (rules gpu.cpus and gpu.memory).
    "tasks": ({"ntasks": 4}, "-n4"),
    "tasks with cpus": ({"ntasks": 2, "cpus_per_task": 2, "tres_per_task": "cpu=2"}, "-n2 -c2"),
    "tasks a node": (
        {"nodes_min": 2, "nodes_max": 2, "ntasks_per_node": 3, "ntasks": 6},
        "-N2 --ntasks-per-node=3",
    ),
    "cpus a task": ({"cpus_per_task": 3, "tres_per_task": "cpu=3"}, "-c3"),
    "memory a node": ({"memory_per_node_mib": 300}, "--mem=300"),
    "memory a cpu": ({"memory_per_node_mib": None, "memory_per_cpu_mib": 77}, "--mem-per-cpu=77"),
    "all memory": ({"memory_per_node_mib": 0, "exclusive": "exclusive"}, "--mem=0 --exclusive"),
    "time": ({"time_limit_min": 61, "time_min_min": 30}, "-t61 --time-min=30"),
    "begin": ({"begin": SOON}, f"--begin={SOON:%Y-%m-%dT%H:%M:%S}"),
    "deadline": (
        {"deadline": SOON, "time_limit_min": 5},
        f"--deadline={SOON:%Y-%m-%dT%H:%M:%S} -t5",
    ),
    "array": ({"array": "0-9:3%2"}, "-a 0-9:3%2"),
    "dependency": ({"dependency": "singleton", "name": "lonely"}, "-d singleton -J lonely"),
    "nice": ({"nice": 77}, "--nice=77"),
    "requeue": ({"requeue": True}, "--requeue"),
    "no requeue": ({"requeue": False}, "--no-requeue"),
    "paths": (
        {"stdin": "/dev/null", "stdout": "/tmp/%x-%j.out", "stderr": "/tmp/%u.err", "open_mode": "append"},
        "-i /dev/null -o /tmp/%x-%j.out -e /tmp/%u.err --open-mode=append",
    ),
    "nodes by name": ({"nodelist": "gpu1"}, "-w gpu1"),
    "not that node": ({"exclude": "gpu2"}, "-x gpu2"),
    "exclusive": ({"exclusive": "exclusive"}, "--exclusive"),
    "oversubscribe": ({"oversubscribe": True}, "-s"),
    "overcommit": ({"overcommit": True, "ntasks": 4}, "-O -n4"),
    "contiguous": ({"contiguous": True, "nodes_min": 2, "nodes_max": 2}, "--contiguous -N2"),
    "spread": ({"spread": True, "nodes_min": 1, "nodes_max": 2}, "--spread-job -N1-2"),
    "least nodes": ({"use_min_nodes": True, "nodes_min": 1, "nodes_max": 2}, "--use-min-nodes -N1-2"),
    "wait for nodes": ({"wait_all_nodes": True}, "--wait-all-nodes=1"),
    "survive a node": ({"kill_on_node_fail": False}, "--no-kill"),
    "signal": ({"signal": "B:USR1@120"}, "--signal=B:USR1@120"),
    "mail": (
        {"mail_type": ("END", "FAIL", "TIME_LIMIT_80"), "mail_user": "a@example.org"},
        "--mail-type=END,FAIL,TIME_LIMIT_80 --mail-user=a@example.org",
    ),
    "all mail": (
        {"mail_type": ("ALL",), "mail_user": "a@example.org"},
        "--mail-type=ALL --mail-user=a@example.org",
    ),
    "cpus a node": ({"mincpus": 3}, "--mincpus=3"),
    "topology": (
        {"threads_per_core": 1, "cores_per_socket": 4, "sockets_per_node": 2},
        "--sockets-per-node=2 --cores-per-socket=4 --threads-per-core=1",
    ),
    "binding of gpus": (
        {"tres_per_node": "gres/gpu:h100:2", "gres_flags": ("enforce-binding",)},
        "--gres=gpu:h100:2 --gres-flags=enforce-binding",
    ),
    "disk": ({"tmp_disk_per_node_mib": 1}, "--tmp=1"),
    "switches": ({"switches": 1, "switches_wait_s": 60}, "--switches=1@00:01:00"),
    "delay boot": ({"delay_boot_s": 120}, "--delay-boot=2"),
    "gpu frequency": (
        {"tres_per_node": "gres/gpu:h100:1", "gpu_freq": "low"},
        "--gres=gpu:h100:1 --gpu-freq=low",
    ),
    "cpu frequency": ({"cpu_freq": "low"}, "--cpu-freq=low"),
    "accounting frequency": ({"acctg_freq": "task=30"}, "--acctg-freq=task=30"),
    "profile": ({"profile": "task"}, "--profile=task"),
    "memory binding": ({"mem_bind": "local"}, "--mem-bind=local"),
    "cores of the system": ({"core_spec": 1}, "-S1"),
    "threads of the system": ({"thread_spec": 1}, "--thread-spec=1"),
    "tasks a socket": ({"ntasks_per_socket": 2, "ntasks": 4}, "--ntasks-per-socket=2 -n4"),
    "tasks a core": ({"ntasks_per_core": 1, "ntasks": 2}, "--ntasks-per-core=1 -n2"),
    "licences": ({"licenses": None, "network": "x"}, "--network=x"),
    "binding to gpus": (
        {"tres_per_node": "gres/gpu:h100:2", "tres_bind": "gres/gpu:closest"},
        "--gres=gpu:h100:2 --gpu-bind=closest",
    ),
    "sizes": ({"node_sizes": "1,2", "nodes_min": 1, "nodes_max": 2}, "-N1,2"),
    "extra": ({"extra": "a=b"}, "--extra=a=b"),
    "segments": (
        {"segment_size": 1, "spread_segments": True, "nodes_min": 2, "nodes_max": 2},
        "--segment=1 --spread-segments -N2",
    ),
    "killed when it can't start": ({"kill_on_invalid_dependency": True}, "--kill-on-invalid-dep=yes"),
    "kept when it can't start": ({"kill_on_invalid_dependency": False}, "--kill-on-invalid-dep=no"),
    "whole step out of memory": ({"oom_kill_step": True}, "--oom-kill-step"),
    "memory update": (
        {"memory_update_margin_percent": 10, "memory_update_delay_min": 5},
        "--mem-update=10@5",
    ),
    "step manager": ({"step_manager": True}, "--stepmgr"),
    "no script": ({"external": True, "script": b"", "name": "external"}, "--external"),
    "distribution": ({"distribution": "cyclic", "ntasks": 4}, "-m cyclic -n4"),
}


def held(scene: RealScene, fields: dict[str, Any]) -> JobSpec:
    plain = JobSpec(
        script=SCRIPT,
        work_dir="/tmp",
        environment={"PATH": "/usr/bin:/bin"},
        account=scene.account,
        memory_per_node_mib=64,
        time_limit_min=5,
        hold=True,
    )
    own = {name: getattr(plain, name) for name in plain.__slots__}
    return JobSpec(**{**own, **fields})


def record(scene: RealScene, job_id: int) -> dict[str, str]:
    shown = scene.shown(job_id)
    scene.slurm.cancel(job_id, user=scene.user)
    for name in ("StdOut", "StdErr"):
        # Whole numbers alone: %a of an array is 4294967294, which has other jobs' numbers in it.
        shown[name] = re.sub(rf"(?<!\d){job_id}(?!\d)", "N", shown.get(name, ""))
    return {name: value for name, value in shown.items() if name not in VOLATILE}


def by_way(scene: RealScene, spec: JobSpec, way: Way) -> int:
    answer = scene.slurm.wire.call("submit", spec=encode(spec), user=scene.user, way=way.value)
    return int(answer["job_id"])


def by_sbatch(scene: RealScene, words: str) -> int:
    given = words.split()
    if "--mem=" not in words and "--mem-per" not in words:
        given.append("--mem=64")
    if not any(word.startswith("-t") for word in given):
        given.append("-t5")
    command = f"cd /tmp && env -i PATH=/usr/bin:/bin sbatch --parsable -H -A {scene.account} {words} "
    command += " ".join(given[len(words.split()) :])
    return int(scene.stack.login_node(scene.user).run(command, stdin=SCRIPT).stdout.split(";")[0])


@pytest.mark.parametrize("case", CASES)
def test_every_way_makes_the_record_that_sbatch_makes(real: RealScene, case: str) -> None:
    fields, words = CASES[case]
    spec = held(real, fields)
    oracle = record(real, by_sbatch(real, words))
    found = {way.value: record(real, by_way(real, spec, way)) for way in ways(spec)}
    differences = {
        f"{way}.{name}": (made.get(name), oracle.get(name))
        for way, made in found.items()
        for name in sorted(made.keys() | oracle.keys())
        if made.get(name) != oracle.get(name)
    }
    assert not differences, "field: (ours, sbatch's)"


@pytest.mark.parametrize("way", Way)
def test_a_refusal_comes_back_with_the_sentence_of_job_submit_lua(real: RealScene, way: Way) -> None:
    spec = held(real, {"tres_per_node": "gres/gpu:h100:9"})
    with pytest.raises(SlurmRefused) as refused:
        by_way(real, spec, way)
    assert refused.value.errno > 0
    assert real.account in refused.value.message
    assert "(rule " in refused.value.message


def test_arguments_reach_the_script(real: RealScene) -> None:
    spec = held(real, {"argv": ("one", "two words")})
    shown = [real.shown(by_way(real, spec, way)) for way in Way]
    assert shown[0]["Command"] == shown[1]["Command"]


def test_the_process_has_the_users_groups_as_with_sbatch(real: RealScene) -> None:
    node = real.stack.login_node(real.user)
    script = "#!/bin/sh\nid; pwd; umask; env | grep -c . >/dev/null\n"
    home = node.run("pwd").stdout.strip()
    made = {
        way.value: by_way(
            real,
            held(
                real,
                {
                    "script": script.encode(),
                    "hold": False,
                    "work_dir": home,
                    "stdout": f"{home}/id-{way}.out",
                },
            ),
            way,
        )
        for way in Way
    }
    made["sbatch"] = node.sbatch(f"-A {real.account} --mem=64 -t5 -o id-sbatch.out", script=script)
    for job_id in made.values():
        real.ended(job_id)
    said = {name: node.run(f"cat id-{name}.out").stdout for name in made}
    assert said["native"] == said["rest"] == said["sbatch"]
    assert f"({real.user})" in said["native"]
    assert home in said["native"].splitlines()


@pytest.mark.parametrize(
    "script",
    [
        b"#!/bin/sh\n# " + bytes(range(128, 256)) + b"\nexit 0",
        "#!/bin/sh\necho Gr\u00f6\u00dfe \U0001f600\n".encode(),
        b"#!/bin/sh",
    ],
    ids=["every byte", "UTF-8", "one line"],
)
def test_a_script_arrives_byte_by_byte(real: RealScene, script: bytes) -> None:
    spec = held(real, {"script": script})
    kept = "scontrol write batch_script {} - | base64 -w0"
    for way in ways(spec):
        job_id = by_way(real, spec, way)
        shown = real.stack.exec("slurmctld", "sh", "-c", kept.format(job_id), user="slurm").stdout
        real.slurm.cancel(job_id, user=real.user)
        assert b64decode(shown) == script, way
