"""Slurm's commands on a host without Slurm: the same words as on the login node, and nobody else's jobs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.foreign_host import foreign_host
from tests.support.stack import OwnTenant, Stack
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

SAME = (
    "squeue",
    "squeue -h -o '%i|%P|%j|%u|%t|%D|%R|%a|%q|%l'",
    "squeue --me -O JobID,Name,tres-per-node -t PENDING",
    "squeue --nonsense",
    "squeue -h -j 999999",
    "sinfo",
    "sinfo -h -N -o '%N %G'",
    "sacct -X -n -P -o JobID,JobName,State,Account",
    "sacct -n --format=JobID,State%20",
    "scontrol show job {job}",
    "scontrol -o show partition",
    "scontrol show hostnames gpu[1-3]",
    "sacctmgr -n -P show user $USER format=User,DefaultAccount",
    "scancel 999999",
    "sbatch --version",
    "sbatch --usage",
)


def test_words_and_exit_codes_are_those_of_the_login_node(stack: Stack, tenant: OwnTenant) -> None:
    login = stack.login_node(tenant.user)
    with foreign_host(stack, tenant.user) as host:
        held = "sbatch -H --parsable --gres=gpu:h100:1 -J 'two words' --wrap=hostname"
        job = host.run(held).stdout.strip()
        done = host.run("sbatch --parsable --wait --mem=64M --wrap=hostname").stdout.strip()
        seen = f"sacct -X -n -P -o State -j {done}"
        wait_for(lambda: login.run(seen).stdout == "COMPLETED\n", f"accounting has job {done}")
        different = {}
        for line in SAME:
            command = line.replace("{job}", job)
            ours, theirs = host.run(command, check=False), login.run(command, check=False)
            if ours != theirs:
                different[command] = (ours, theirs)
        assert different == {}
        assert f'"job_id": {job},' in host.run("squeue --json").stdout


def test_a_job_goes_its_way_by_slurm_s_commands(stack: Stack, tenant: OwnTenant) -> None:
    login = stack.login_node(tenant.user)
    with foreign_host(stack, tenant.user) as host:
        script = "#!/bin/bash\n#SBATCH -o out.%j --time=5 --mem=64M\necho $EPOCHS in $PWD as $USER\n"
        script += "umask; exit 3\n"
        host.run("mkdir -p 'a folder'; cat > 'a folder/job.sh'", stdin=script)
        ran = host.run("cd 'a folder'; umask 027; EPOCHS=7 sbatch --wait job.sh", check=False)
        assert ran.returncode == 3, ran.text
        job = ran.stdout.split()[-1]
        assert ran.stdout == f"Submitted batch job {job}\n"
        wanted = f"7 in /home/{tenant.user}/a folder as {tenant.user}\n0027\n"
        assert login.run(f"cat 'a folder/out.{job}'").stdout == wanted

        job = host.run("sbatch --parsable --mem=64M --wrap='sleep 600'", stdin="").stdout.strip()
        host.run(f"scontrol update JobId={job} TimeLimit=9 JobName=other")
        assert host.run(f"squeue -h -j {job} -o '%j %l'").stdout == "other 9:00\n"
        host.run(f"scancel {job}")
        state = f"squeue -h -j {job} -t all -o %T"
        wait_for(lambda: "CANCELLED" in login.run(state).stdout, f"job {job} is cancelled")


def test_colleagues_and_strangers_are_safe(
    stack: Stack, tenant: OwnTenant, make_tenant: Callable[..., OwnTenant]
) -> None:
    other = make_tenant()
    theirs = stack.login_node(other.user).sbatch("-H --mem=64M --wrap=hostname")
    with foreign_host(stack, tenant.user) as host:
        assert str(theirs) not in host.run("squeue -h -a -o %i").stdout.split()
        assert host.run(f"scontrol show job {theirs}", check=False).returncode == 1
        for command in (
            f"scancel {theirs}",
            f"scontrol release {theirs}",
            f"scontrol -u {other.user} top {theirs}",
        ):
            assert host.run(command, check=False).returncode != 0, command
    state = stack.login_node(other.user).run(f"squeue -h -j {theirs} -o %T").stdout.strip()
    assert state == "PENDING"


def test_what_sbatch_refuses_has_its_words_and_codes(stack: Stack, tenant: OwnTenant) -> None:
    login = stack.login_node(tenant.user)
    with foreign_host(stack, tenant.user) as host:
        for words, script in (
            ("--nope", ""),
            ("-n x --wrap=hostname", ""),
            ("--wrap=hostname arg", ""),
            ("nothing.sh", ""),
            ("", "hostname\n"),
            ("", "#!/bin/sh\r\nhostname\n"),
            ("--time=1d", "#!/bin/sh\n"),
        ):
            ours = host.run(f"sbatch {words}", stdin=script, check=False)
            assert ours == login.run(f"sbatch {words}", stdin=script, check=False), words
