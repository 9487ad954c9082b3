"""kubectl and helm for this machine: the ones that the cluster's image has, else the user's own.

What flows in: the image, the checkout. What flows out: a command's path.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Final

import docker

from bridge.cluster.engine import calling
from bridge.errors import NotFound

IN_IMAGE: Final[Mapping[str, str]] = {
    # One program for all of Kubernetes, which is kubectl when it is called so.
    "kubectl": "/usr/local/bin/kubernetes",
    "helm": "/usr/local/bin/helm",
}
ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}


def tool(client: docker.DockerClient, image: str, checkout: Path, name: str) -> Path:
    """Return a command; taken out of the image once, where this machine can run it.

    Raises
    ------
    NotFound
        This machine can't run the image's programs (a Mac) and has none of its own.
    """
    folder = checkout / ".sluice" / "tools" / image.replace(":", "-")
    path = folder / name
    if path.exists():
        return path
    if _runs_here(client, image):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _take_out(client, image, IN_IMAGE[name], path)
        return path
    own = shutil.which(name)
    if own is None:
        raise NotFound(f"{name} is needed and not on this machine; install it, then run it again")
    return Path(own)


def _runs_here(client: docker.DockerClient, image: str) -> bool:
    with calling(f"docker image inspect {image}"):
        architecture = client.images.get(image).attrs.get("Architecture")
    return sys.platform == "linux" and ARCHITECTURES.get(platform.machine()) == architecture


def _take_out(client: docker.DockerClient, image: str, inside: str, path: Path) -> None:
    """Copy a file of an image; renamed into place, so that a kill leaves no half of it."""
    with calling(f"docker cp {image}:{inside} {path}"):
        container = client.containers.create(image, ["true"], network_mode="none")
        try:
            stream, _ = container.get_archive(inside)
            with tempfile.TemporaryFile(dir=path.parent) as archive:
                for chunk in stream:
                    archive.write(chunk)
                archive.seek(0)
                _unpack_one(archive, path)
        finally:
            container.remove(force=True)


def _unpack_one(archive: IO[bytes], path: Path) -> None:
    new = path.with_name(f"{path.name}.{os.getpid()}")
    with tarfile.open(fileobj=archive) as tar:
        member = tar.next()
        source = tar.extractfile(member) if member is not None else None
        if source is None:
            raise NotFound(f"the cluster's image has no {path.name}; ./sluice up --kubernetes builds it anew")
        with source, new.open("wb") as target:
            shutil.copyfileobj(source, target)
    new.chmod(0o755)
    new.replace(path)
