"""A site's own directory for tests: slapd and sssd of Debian, in a container that the test makes.

Its SSSD serves the stack's containers through the volume where a site mounts its own. What doesn't belong
here: assertions.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.support.stack import Ran, Stack, run
from tests.support.waiting import wait_for

RELEASE: Final = "trixie"
"""Debian's stable release: the testing one has no SSSD at times."""
PACKAGES: Final = ("ca-certificates", "sssd-ldap", "sssd-common", "slapd", "ldap-utils", "libnss-sss", "tini")
START: Final = Path(__file__).parents[1] / "data" / "directory" / "start"
BASE: Final = "dc=example,dc=org"
ADMIN: Final = ("-x", "-H", "ldap://127.0.0.1", "-D", f"cn=admin,{BASE}", "-w", "secret")
BUILD_S: Final = 900


@dataclass(frozen=True, slots=True)
class Directory:
    """A running directory."""

    container: str

    def exec(self, *argv: str, stdin: str | None = None, check: bool = True) -> Ran:
        """Run a command in its container."""
        return run(["docker", "exec", "-i", self.container, *argv], stdin=stdin, check=check)

    def add(self, *entries: str) -> None:
        """Add entries, as LDIF."""
        self.exec("ldapadd", *ADMIN, stdin="\n\n".join(entries) + "\n")

    def add_user(self, user: str, uid: int, gid: int) -> None:
        """Add a person."""
        self.add(
            f"dn: uid={user},{BASE}\nobjectClass: account\nobjectClass: posixAccount\nuid: {user}\n"
            f"cn: {user}\nuidNumber: {uid}\ngidNumber: {gid}\nhomeDirectory: /home/{user}\n"
            "loginShell: /bin/bash"
        )

    def add_group(self, group: str, gid: int, members: Sequence[str]) -> None:
        """Add a group."""
        listed = "".join(f"\nmemberUid: {user}" for user in members)
        self.add(f"dn: cn={group},{BASE}\nobjectClass: posixGroup\ncn: {group}\ngidNumber: {gid}{listed}")

    def swap_member(self, group: str, *, leaves: str, joins: str) -> None:
        """Let one person leave a group and another join it, at once.

        SSSD takes a group whose time stamp of the change, in whole seconds, is the one that it has for
        unchanged: of two changes within a second it may never see the second.
        """
        changes = f"delete: memberUid\nmemberUid: {leaves}\n-\nadd: memberUid\nmemberUid: {joins}\n"
        self.exec("ldapmodify", *ADMIN, stdin=f"dn: cn={group},{BASE}\nchangetype: modify\n{changes}")

    def stop(self) -> None:
        """Take SSSD and slapd away, as a kill does."""
        run(["docker", "kill", self.container])

    def start(self) -> None:
        """Bring them back, with what was in it."""
        run(["docker", "start", self.container])
        self.wait_until_ready()

    def wait_until_ready(self) -> None:
        """Wait for slapd to answer and for SSSD's socket."""
        asked = ("ldapwhoami", *ADMIN)
        wait_for(lambda: self.exec(*asked, check=False).returncode == 0, "slapd answers", deadline_s=120)
        socket = ("test", "-S", "/var/lib/sss/pipes/nss")
        wait_for(lambda: self.exec(*socket, check=False).returncode == 0, "sssd serves", deadline_s=120)


def why_not() -> str:
    """Return why no directory can be made here; empty when it can."""
    if _image_is_there():
        return ""
    if os.geteuid() != 0 or shutil.which("mmdebstrap") is None:
        return "a container with slapd and sssd is made with mmdebstrap, as root; it is not here"
    return ""


@contextmanager
def running_directory(stack: Stack) -> Iterator[Directory]:
    """Run a directory whose SSSD the stack's containers see; there is one of them a stack."""
    image = _image()
    name = f"{stack.name}-test-directory"
    subprocess.run(["docker", "rm", "-f", name], capture_output=True, check=False)
    volume = f"{stack.name}-sss:/var/lib/sss/pipes"
    mounts = ["-v", volume, "-v", f"{START}:/usr/local/sbin/start-directory:ro"]
    run(
        [
            "docker",
            "run",
            "-d",
            "--name",
            name,
            *mounts,
            image,
            "tini",
            "--",
            "/usr/local/sbin/start-directory",
        ]
    )
    directory = Directory(name)
    try:
        directory.wait_until_ready()
        directory.add(f"dn: {BASE}\nobjectClass: domain\ndc: example")
        yield directory
    finally:
        # A socket that nobody serves would make each look-up in the stack complain.
        directory.exec("sh", "-c", "find /var/lib/sss/pipes -type s -delete", check=False)
        subprocess.run(["docker", "rm", "-f", name], capture_output=True, check=False)


def _reference() -> str:
    return f"sluice-test-directory:{hashlib.sha256(repr((RELEASE, PACKAGES)).encode()).hexdigest()[:12]}"


def _image_is_there() -> bool:
    found = subprocess.run(["docker", "image", "inspect", _reference()], capture_output=True, check=False)
    return found.returncode == 0


def _image() -> str:
    if not _image_is_there():
        with tempfile.TemporaryDirectory(prefix="sluice-directory-") as folder:
            tarball = str(Path(folder) / "directory.tar")
            made = ["mmdebstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}"]
            run(
                [*made, '--aptopt=Acquire::Check-Valid-Until "false"', RELEASE, tarball],
                timeout_s=BUILD_S,
            )
            run(["docker", "import", tarball, _reference()], timeout_s=300)
    return _reference()
