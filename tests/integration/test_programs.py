"""submitit, dask-jobqueue, Snakemake's slurm executor and Parsl, unmodified, on a host without Slurm."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.support.foreign_host import ForeignHost, foreign_host
from tests.support.stack import CHECKOUT, OwnTenant, Stack

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(1500)]

HERE: Final = Path(__file__).parent / "programs"
PACKAGES: Final = HERE / "packages.txt"
PURE: Final = "immutables"
"""Has no wheel for the nodes' Python; its C part is optional."""


@pytest.fixture(scope="module")
def packages(stack: Stack) -> Iterator[str]:
    """The programs, in a folder that hosts and nodes share."""
    version = stack.exec(
        "gpu1", "python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"
    ).stdout.strip()
    pin = hashlib.sha256(PACKAGES.read_bytes() + version.encode()).hexdigest()[:12]
    here = CHECKOUT / ".sluice" / "programs" / pin
    if not here.exists():
        _install(here, version)
    shared = f"/home/programs-{pin}"
    archive = subprocess.run(
        ["tar", "-C", str(here), "-cf", "-", "."], capture_output=True, check=True
    ).stdout
    stack.exec("login", "mkdir", "-p", shared)
    stack.exec("login", "tar", "-C", shared, "-xf", "-", stdin=archive, timeout_s=300)
    # A user's jobs can't write there, and importing all of it without bytecode takes a minute.
    stack.exec("gpu1", "python3", "-m", "compileall", "-q", "-j0", shared, check=False, timeout_s=600)
    yield shared
    stack.exec("login", "rm", "-rf", shared)


def _install(folder: Path, version: str) -> None:
    """Install wheels for the nodes' Python with the launcher's uv."""
    uv = next(iter(CHECKOUT.glob(".sluice/bootstrap/*/bin/uv")), None)
    if uv is None:
        pytest.skip("no uv here: ./sluice makes it when it makes the environment")
    new = folder.with_name(f"{folder.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    left_out = new / "override.txt"
    left_out.write_text(f"{PURE}; python_version < '3'\n")
    install = [str(uv), "pip", "install", "--quiet", f"--target={new}"]
    wheels = [f"--python-version={version}", "--python-platform=x86_64-manylinux_2_39", "--only-binary=:all:"]
    sources = ["--no-binary=connection-pool", f"--override={left_out}"]
    environment = {**os.environ, "UV_SYSTEM_CERTS": "1"}
    for words in ([*wheels, *sources, "-r", str(PACKAGES)], ["--no-deps", PURE]):
        done = subprocess.run(
            [*install, *words], capture_output=True, text=True, env=environment, check=False
        )
        if done.returncode != 0:
            pytest.skip(f"the programs can't be had from PyPI: {done.stderr.strip().splitlines()[-1:]}")
    for script in (new / "bin").iterdir():
        lines = script.read_bytes().split(b"\n", 1)
        if lines[0].startswith(b"#!") and b"python" in lines[0]:
            script.write_bytes(b"#!/usr/bin/python3\n" + lines[1])
    new.rename(folder)


@pytest.fixture
def host(stack: Stack, tenant: OwnTenant) -> Iterator[ForeignHost]:
    """A host without Slurm."""
    with foreign_host(stack, tenant.user) as made:
        yield made


def python(host: ForeignHost, packages: str, file: str) -> str:
    host.run(f"cat > {file}", stdin=(HERE / file).read_bytes())
    path = f"PATH=$PATH:{packages}/bin PYTHONPATH={packages}"
    ran = host.run(f"{path} timeout 600 /usr/bin/python3 {file}", check=False, timeout_s=620)
    logs = (
        ""
        if ran.returncode == 0
        else host.run("tail -n 40 */*.log */*.err */*/*.log */*/*/*.log", check=False).text
    )
    assert ran.returncode == 0, f"{ran.text}\n{logs}"
    return ran.stdout


def test_submitit(host: ForeignHost, packages: str) -> None:
    assert python(host, packages, "use_submitit.py").splitlines() == [
        "one 81",
        "many [1, 4, 9]",
        "cancelled CANCELLED",
    ]


def test_dask_jobqueue(host: ForeignHost, packages: str) -> None:
    assert "sum 285" in python(host, packages, "use_dask.py").splitlines()
    assert host.run("squeue -h -t R").stdout == "" or "COMPLETING" in host.run("squeue -h -o %T").stdout


def test_parsl(host: ForeignHost, packages: str) -> None:
    assert "powers [0, 1, 4, 9] gpu" in python(host, packages, "use_parsl.py")


def test_snakemake_s_slurm_executor(host: ForeignHost, packages: str) -> None:
    host.run("cat > Snakefile", stdin=(HERE / "Snakefile").read_bytes())
    line = "snakemake --executor slurm --jobs 4 --latency-wait 30 --seconds-between-status-checks 10"
    path = f"PATH=$PATH:{packages}/bin PYTHONPATH={packages}"
    ran = host.run(f"{path} timeout 900 /usr/bin/python3 -m {line}", check=False, timeout_s=920)
    assert ran.returncode == 0, ran.text
    assert host.run("cat out/sum.txt").stdout == "1\n2\n3\n"
