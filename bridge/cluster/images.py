"""The stack's images: which files make each, their content hash, their builds.

What flows in: the checkout, the base's reference, the host's CA certificates. What flows out: `parts.
Images`. An image whose tag exists is never built again; the tag is the hash of all that goes in.
"""

from __future__ import annotations

import hashlib
import io
import re
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import docker
from docker.errors import ImageNotFound

from bridge.cluster.base import BASE_NAME
from bridge.cluster.engine import TAIL_LINES, calling
from bridge.cluster.part import HASH_LENGTH
from bridge.cluster.parts import Images
from bridge.cluster.reporter import Reporter
from bridge.errors import StepFailed

CONFLICT: Final = 409
LABEL_IMAGE: Final = "sh.sluice.image"
"""Marks images that `up` built: its value is the image's short name."""

HOST_CERTIFICATES: Final = Path("/usr/local/share/ca-certificates")
"""Debian's folder for certificate authorities of the site; builds trust them too."""

COLOURS: Final = re.compile(r"\x1b\[[0-9;]*m")
"""Docker colours what a build writes to standard error."""

KEPT: Final = 5
"""Builds of one image that stay: other checkouts and an older one of this may come back to them."""

SOURCES: Final = ("pyproject.toml", "uv.lock", "uv-bootstrap.txt")
"""What an environment is made from, beside the code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """An image: its short name and the files of the checkout in its build context.

    The Dockerfile is ``docker/<name>/Dockerfile``; what it is built upon is named by build arguments.
    """

    name: str
    inputs: tuple[str, ...]
    without: tuple[str, ...] = ()
    """Folders left out: what runs on the host only, so that a change of it replaces no container."""

    @property
    def dockerfile(self) -> str:
        """Path in the context."""
        return f"docker/{self.name}/Dockerfile"


MARIADB: Final = Recipe(name="mariadb", inputs=("docker/mariadb",))
PACKAGES: Final = Recipe(name="slurm-packages", inputs=("docker/slurm-packages",))
SLURM: Final = Recipe(
    name="slurm",
    inputs=(
        "docker/slurm",
        *(f"slurm-conf/{name}" for name in ("prolog", "epilog", "make-home", "job_submit.first.lua")),
    ),
)
LOGIN: Final = Recipe(name="login", inputs=("docker/login",))
"""Login nodes of the chart; the local stack's login node has no sshd."""
AGENT: Final = Recipe(name="agent", inputs=("docker/agent", *SOURCES, "bridge"))
GATEWAY: Final = Recipe(
    name="gateway", inputs=("docker/gateway", *SOURCES, "bridge", "gateway", "slurm-conf")
)
LOGIN_NODE: Final = Recipe(name="login-node", inputs=("docker/login-node", "gateway"))
"""The local stack's login node, where `sluice` is a command too."""
KUBE_PROGRAMS: Final = Recipe(name="kube-programs", inputs=("docker/kube-programs",))
KUBE: Final = Recipe(name="kube", inputs=("docker/kube",))


@dataclass(frozen=True, slots=True)
class Context:
    """A build context: archive paths, modes and contents, sorted by path."""

    files: tuple[tuple[str, int, bytes], ...]

    def digest(self, start: str) -> str:
        """Hash everything that goes in, what it is built upon included."""
        total = hashlib.sha256(start.encode())
        for path, mode, content in self.files:
            total.update(f"\0{path}\0{mode:o}\0{len(content)}\0".encode())
            total.update(content)
        return total.hexdigest()[:HASH_LENGTH]

    def archive(self) -> io.BytesIO:
        """Return it as a tar file; times and owners are left out, so that Docker's cache holds."""
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w") as archive:
            for path, mode, content in self.files:
                entry = tarfile.TarInfo(path)
                entry.size, entry.mode = len(content), mode
                archive.addfile(entry, io.BytesIO(content))
        stream.seek(0)
        return stream


def context_of(recipe: Recipe, checkout: Path, certificates: Path = HOST_CERTIFICATES) -> Context:
    """Read a recipe's files and the host's certificates (as ``ca/NAME.crt``)."""
    found = {
        path: checkout / path
        for given in recipe.inputs
        for path in _below(checkout, given)
        if not any(path.startswith(f"{folder}/") for folder in recipe.without)
    }
    files = [(path, 0o755 if _executable(file) else 0o644, file.read_bytes()) for path, file in found.items()]
    crts = sorted(certificates.glob("*.crt")) if certificates.is_dir() else []
    files += [(f"ca/{crt.name}", 0o644, crt.read_bytes()) for crt in crts]
    # COPY wants the folder to exist; the trailing file is no certificate and is ignored.
    files.append(("ca/README", 0o644, b"Certificate authorities of the host that builds.\n"))
    return Context(tuple(sorted(files)))


def _below(checkout: Path, given: str) -> Iterator[str]:
    start = checkout / given
    if start.is_file():
        yield given
        return
    if not start.is_dir():
        raise StepFailed(
            f"{given} is missing in {checkout}",
            remedy="restore the checkout (git status shows what is missing)",
        )
    for file in sorted(start.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            yield file.relative_to(checkout).as_posix()


def _executable(file: Path) -> bool:
    return bool(file.stat().st_mode & 0o100)


@dataclass(frozen=True, slots=True)
class Foundation:
    """What an image is built upon: build arguments that name images, and what those are.

    `exact` tells apart what a name alone doesn't: the base's tag isn't a hash of its content.
    """

    arguments: Mapping[str, str]
    exact: str = ""

    @property
    def identity(self) -> str:
        """Goes into the hash of the image."""
        return " ".join([*(f"{name}={value}" for name, value in sorted(self.arguments.items())), self.exact])


@dataclass(frozen=True, slots=True)
class Builder:
    """Builds what is missing, from one checkout."""

    client: docker.DockerClient
    checkout: Path
    report: Reporter

    def all(self, base: str) -> Images:
        """Make sure of all images and return their references."""
        with calling(f"docker image inspect {base}"):
            base_id = str(self.client.images.get(base).id)
        from_base = Foundation({"BASE": base}, base_id)
        packages = self._ensure(PACKAGES, from_base)
        slurm = self._ensure(SLURM, Foundation({"BASE": packages}))
        # Compiled on the packages alone: a changed script of ours must not compile pyslurm again.
        agent = self._ensure(AGENT, Foundation({"BASE": slurm, "PACKAGES": packages}))
        return Images(
            mariadb=self._ensure(MARIADB, from_base),
            slurm=slurm,
            agent=agent,
            login=self._ensure(LOGIN_NODE, Foundation({"BASE": agent})),
            gateway=self._ensure(GATEWAY, from_base),
        )

    def login(self, slurm: str) -> str:
        """Make sure of the chart's login image, on the image of Slurm; returns its reference."""
        return self._ensure(LOGIN, Foundation({"BASE": slurm}))

    def kube(self, base: str) -> str:
        """Make sure of the image of a Kubernetes cluster of our own and return its reference."""
        with calling(f"docker image inspect {base}"):
            base_id = str(self.client.images.get(base).id)
        programs = self._ensure(KUBE_PROGRAMS, Foundation({"BASE": base}, base_id))
        return self._ensure(KUBE, Foundation({"BASE": base, "PROGRAMS": programs}))

    def _ensure(self, recipe: Recipe, start: Foundation) -> str:
        context = context_of(recipe, self.checkout)
        name = f"sluice-{recipe.name}"
        reference = f"{name}:{context.digest(start.identity)}"
        with calling(f"docker image inspect {reference}"):
            try:
                self.client.images.get(reference)
                return reference
            except ImageNotFound:
                pass
        self.report.begin(f"building {name}")
        self._build(recipe, context, start, reference)
        self.report.end("built")
        remove_older(self.client, name, keep=KEPT)
        return reference

    def _build(self, recipe: Recipe, context: Context, start: Foundation, reference: str) -> None:
        arguments = " ".join(f"--build-arg {name}={value}" for name, value in start.arguments.items())
        command = f"docker build -f {recipe.dockerfile} {arguments} -t {reference} ."
        lines: list[str] = []
        with calling(command, "run it again; what was built is kept"):
            stream = self.client.api.build(
                fileobj=context.archive(),
                custom_context=True,
                dockerfile=recipe.dockerfile,
                buildargs=dict(start.arguments),
                labels={LABEL_IMAGE: recipe.name},
                tag=reference,
                rm=True,
                forcerm=True,
                decode=True,
            )
            for event in stream:
                for line in COLOURS.sub("", str(event.get("stream", ""))).splitlines():
                    if line.strip():
                        lines.append(line.rstrip())
                        self.report.line(line.strip())
                if "error" in event:
                    raise StepFailed(
                        f"image sluice-{recipe.name} could not be built ({event['error'].strip()})",
                        command=command,
                        tail="\n".join(lines[-TAIL_LINES:]),
                        remedy="see that the package mirrors can be reached, then run ./sluice up again",
                    )


def remove_older(client: docker.DockerClient, name: str, *, keep: int) -> tuple[str, ...]:
    """Remove all but the newest `keep` builds of an image, and none that a container uses."""
    # The plain listing: the SDK's own asks about each image again, and fails when one is gone by then.
    with calling(f"docker image ls {name}"):
        builds = client.api.images(name, filters={"label": LABEL_IMAGE})
    builds.sort(key=lambda image: int(image["Created"]), reverse=True)
    references = [reference for image in builds[keep:] for reference in image["RepoTags"] or []]
    return tuple(reference for reference in references if _removed(client, reference))


def _removed(client: docker.DockerClient, reference: str) -> bool:
    with calling(f"docker image rm {reference}"):
        try:
            client.images.remove(reference)
        except ImageNotFound:
            return False  # went with another one
        except docker.errors.APIError as error:
            if error.status_code != CONFLICT:  # in use by a container or another image: it stays
                raise
            return False
        return True


def remove_images(client: docker.DockerClient) -> tuple[str, ...]:
    """Remove the images that `up` built or got and that no container uses; return their names.

    Build stages have the label too, and no name.
    """
    with calling("docker image ls"):
        found = [*client.api.images(filters={"label": LABEL_IMAGE}), *client.api.images(BASE_NAME)]
    references = [reference for image in found for reference in image["RepoTags"] or [image["Id"]]]
    return tuple(reference for reference in references if _removed(client, reference))
