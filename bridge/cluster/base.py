"""The base image of all images: Debian's own, or one made here when no registry can be reached.

What flows in: the client. What flows out: the base's reference. Either way it is tagged
``sluice-base:<hash of the recipe>``, so that it is got once.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import docker
from docker.errors import ImageNotFound

from bridge.cluster.engine import calling, last_lines
from bridge.cluster.part import digest
from bridge.cluster.reporter import Reporter
from bridge.errors import StepFailed

RELEASE: Final = "forky"
"""Debian release that has the Slurm we ask for; its version is read from the image, never assumed."""

SOURCE: Final = f"debian:{RELEASE}-slim"
BASE_NAME: Final = "sluice-base"
PULL_LIMIT_S: Final = 60
BOOTSTRAP_LIMIT_S: Final = 900


def ensure_base(client: docker.DockerClient, report: Reporter) -> str:
    """Return the base image's reference; gets or makes it when it is missing."""
    reference = f"{BASE_NAME}:{digest([SOURCE, 2])}"
    with calling(f"docker image inspect {reference}"):
        try:
            client.images.get(reference)
            return reference
        except ImageNotFound:
            pass
    report.begin(f"getting {SOURCE}")
    why = _pull(reference, report)
    if why:
        report.end("not to be had")
        report.say(f"{SOURCE} can't be pulled ({why}); making the base image with mmdebstrap instead")
        report.begin("making the base image")
        _bootstrap(client, reference, report)
    report.end()
    return reference


def _pull(reference: str, report: Reporter) -> str:
    """Pull and tag; return why not, empty when it worked.

    By the docker command: a pull through the SDK can't be ended after a time.
    """
    if shutil.which("docker") is None:
        return "there is no docker command"
    report.line(f"docker pull {SOURCE}")
    try:
        ran = _run(("docker", "pull", "--quiet", SOURCE), PULL_LIMIT_S)
    except subprocess.TimeoutExpired:
        return f"no answer within {PULL_LIMIT_S} s"
    if ran.returncode != 0:
        return last_lines(ran.stderr, 1) or f"docker pull ended with {ran.returncode}"
    tagged = _run(("docker", "tag", SOURCE, reference), PULL_LIMIT_S)
    return "" if tagged.returncode == 0 else last_lines(tagged.stderr, 1)


def _bootstrap(client: docker.DockerClient, reference: str, report: Reporter) -> None:
    _ensure_mmdebstrap(report)
    with tempfile.TemporaryDirectory(prefix="sluice-base-") as folder:
        tarball = Path(folder) / "base.tar"
        command = (
            *("mmdebstrap", "--variant=minbase", "--include=ca-certificates"),
            # A mirror that can be reached where the registry can't may be an old snapshot. mmdebstrap
            # keeps the option in the image, so that builds on this base accept the mirror too.
            *('--aptopt=Acquire::Check-Valid-Until "false"', RELEASE, str(tarball)),
        )
        report.line(" ".join(command[:3]))
        _must(command, BOOTSTRAP_LIMIT_S, "see that Debian's mirror can be reached, then run it again")
        report.line(f"docker import {reference}")
        with calling(f"docker import - {reference}"):
            name, tag = reference.split(":")
            client.api.import_image_from_file(str(tarball), repository=name, tag=tag)


def _ensure_mmdebstrap(report: Reporter) -> None:
    if shutil.which("mmdebstrap"):
        return
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise StepFailed(
            f"{SOURCE} can't be pulled and there is no mmdebstrap to make a base image with",
            command=f"docker pull {SOURCE}",
            remedy=f"let Docker reach its registry, or install mmdebstrap, or load {SOURCE} by hand"
            " (docker load), then run it again",
        )
    report.line("apt-get install mmdebstrap")
    install = ("apt-get", "install", "--yes", "--no-install-recommends", "mmdebstrap")
    if _run(install, BOOTSTRAP_LIMIT_S).returncode != 0:
        _must(("apt-get", "update"), BOOTSTRAP_LIMIT_S, "see that Debian's mirror can be reached")
        _must(install, BOOTSTRAP_LIMIT_S, "install mmdebstrap by hand, then run it again")


def _run(command: Sequence[str], limit_s: int) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    return subprocess.run(
        command, capture_output=True, text=True, timeout=limit_s, env=environment, check=False
    )


def _must(command: Sequence[str], limit_s: int, remedy: str) -> None:
    shown = " ".join(command)
    try:
        ran = _run(command, limit_s)
    except subprocess.TimeoutExpired as error:
        raise StepFailed(f"no end within {limit_s} s", command=shown, remedy=remedy) from error
    if ran.returncode != 0:
        tail = last_lines(ran.stdout + ran.stderr)
        raise StepFailed("the base image could not be made", command=shown, tail=tail, remedy=remedy)
