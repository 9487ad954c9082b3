"""sbatch's rate with the rules of 1,000 tenants, against bare Slurm's, in one run.

``./sluice bench sbatch_rate`` or ``PYTHONPATH=. python benchmarks/sbatch_rate.py [FILE.json]``. One container
with slurmctld alone, from the image of a running stack (SLUICE_STACK); it is started in turn without a
job_submit plugin and with ours, and each time a user submits held jobs one after another. The target is a
ratio of at least 0.9.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path
from statistics import median

from bridge.policy.lua import render
from bridge.policy.script import SHIPPED, script_text
from bridge.policy.table import table_of
from tests.unit.policy import worlds

ROUNDS, JOBS = 5, 100
USER = "user-1-0"
CONF = """ClusterName=bench
SlurmctldHost=bench
AuthType=auth/slurm
CredType=cred/slurm
SlurmUser=slurm
StateSaveLocation=/var/spool/slurmctld
SlurmctldLogFile=/tmp/slurmctld.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
GresTypes=gpu
NodeName=g1 CPUs=64 RealMemory=500000 Gres=gpu:h100:8 State=FUTURE
PartitionName=h100 Nodes=g1 Default=YES State=UP
"""
SET_UP = f"""useradd --create-home {USER}
head -c 1024 /dev/urandom > /etc/slurm/slurm.key
chmod 600 /etc/slurm/slurm.key && chown slurm /etc/slurm/slurm.key
install -d -o slurm /run/slurm /run/slurmctld /var/spool/slurmctld
"""
# Prints milliseconds, and the median of what slurmctld says that a job took it, in microseconds. The state is
# thrown away, so that each round begins with an empty queue.
ROUND = f"""cp /root/$1.conf /etc/slurm/slurm.conf; rm -rf /var/spool/slurmctld/* /tmp/slurmctld.log
setpriv --reuid slurm --regid slurm --clear-groups slurmctld
until scontrol ping | grep -q UP; do sleep 0.1; done
cd /home/{USER}
as_user="setpriv --reuid {USER} --regid {USER} --clear-groups"
$as_user sbatch -Q --hold --wrap=true || exit 1
begun=$(date +%s%N)
for i in $(seq {JOBS}); do $as_user sbatch -Q --hold --gpus=1 --wrap=true || exit 1; done
ended=$(date +%s%N)
scontrol shutdown >/dev/null
while pgrep -x slurmctld >/dev/null; do sleep 0.1; done
usec=$(grep submit_batch_job /tmp/slurmctld.log | grep -o 'usec=[0-9]*' | cut -d= -f2 | sort -n)
echo $(( (ended - begun) / 1000000 )) $(echo "$usec" | sed -n "$(( {JOBS} / 2 ))p")
"""


def docker(*arguments: str, stdin: str = "") -> str:
    """Run docker; what it says when it fails is shown."""
    done = subprocess.run(["docker", *arguments], input=stdin, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"docker {arguments[0]} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def main() -> None:
    stack = os.environ.get("SLUICE_STACK", "sluice")
    image = docker("inspect", "--format={{.Config.Image}}", f"{stack}-slurmctld").strip()
    name = f"sluice-bench-{uuid.uuid4().hex[:8]}"
    docker(
        "run",
        "--detach",
        "--init",
        "--rm",
        "--user=0",
        "--entrypoint=sleep",
        "--hostname=bench",
        f"--name={name}",
        image,
        "infinity",
    )
    try:
        with tempfile.TemporaryDirectory() as folder:
            files = {
                "bare.conf": CONF,
                "sluice.conf": f"{CONF}JobSubmitPlugins=lua\n",
                "table.lua": render(table_of(worlds.many_tenants(1000, members=20), worlds.pool())),
                "job_submit.lua": script_text(SHIPPED),
                "round": ROUND,
            }
            for file, text in files.items():
                Path(folder, file).write_text(text)
            docker("cp", f"{folder}/.", f"{name}:/root/")
        docker("exec", name, "sh", "-ec", SET_UP)
        place = "install -D -m 644 /root/table.lua /var/lib/sluice/policy/table.lua && install -m 644"
        docker("exec", name, "sh", "-ec", f"{place} /root/job_submit.lua /etc/slurm/job_submit.lua")
        spent: dict[str, list[int]] = {"bare": [], "sluice": []}
        inside: dict[str, list[int]] = {"bare": [], "sluice": []}
        for _ in range(ROUNDS):
            for which, times in spent.items():
                *_words, ms, us = docker("exec", name, "bash", "/root/round", which).split()
                times.append(int(ms))
                inside[which].append(int(us))
    finally:
        docker("rm", "--force", name)
    rate = {which: round(JOBS / median(times) * 1000, 1) for which, times in spent.items()}
    pairs = [bare / ours for bare, ours in zip(spent["bare"], spent["sluice"], strict=True)]
    figures = {
        "tenants": 1000,
        "jobs": JOBS,
        "rounds": ROUNDS,
        "bare_per_s": rate["bare"],
        "sluice_per_s": rate["sluice"],
        "ratio": round(median(pairs), 3),
        "bare_slurmctld_us": median(inside["bare"]),
        "sluice_slurmctld_us": median(inside["sluice"]),
        "target": 0.9,
    }
    print(json.dumps(figures))
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(json.dumps(figures) + "\n")


if __name__ == "__main__":
    main()
