"""The file-agent as it runs: its own process, real uids, only CAP_SETUID and CAP_SETGID.

Needs root (it becomes other users) and setpriv; no cluster.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bridge.errors import Denied, InputError, NotFound, SluiceError, Unavailable
from bridge.wire import Client
from gateway.file_agent.serve import MAX_READ
from tests.support.waiting import wait_for

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="becomes other users: needs root"),
    pytest.mark.skipif(shutil.which("setpriv") is None, reason="drops capabilities: needs setpriv"),
]

ADA, BELA, LAB = 20000, 20001, 30000
PASSWD = f"""\
ada:x:{ADA}:{ADA}::/home/ada:/bin/bash
bela:x:{BELA}:{BELA}::/home/bela:/bin/bash
root:x:0:0::/root:/bin/sh
"""
GROUP = f"ada:x:{ADA}:\nbela:x:{BELA}:\nlab:x:{LAB}:ada\n"
SECRET = b"bela's own words"


@dataclass(frozen=True)
class Place:
    """A made-up shared file system and the agent that reads it."""

    base: Path
    client: Client
    process: subprocess.Popen[bytes]

    @property
    def home(self) -> Path:
        return self.base / "home"

    def file(self, name: str, data: bytes = b"", *, uid: int = ADA, gid: int = 0, mode: int = 0o600) -> str:
        path = self.home / name
        path.write_bytes(data)
        os.chown(path, uid, gid or uid)
        path.chmod(mode)
        return str(path)

    def link(self, name: str, target: str, *, uid: int = ADA) -> str:
        path = self.home / name
        path.symlink_to(target)
        os.lchown(path, uid, uid)
        return str(path)

    def read(self, path: str, *, user: str = "ada", offset: int = 0, length: int = MAX_READ) -> bytes:
        data = self.answer(path, user=user, offset=offset, length=length)["data"]
        assert isinstance(data, bytes)
        return data

    def answer(
        self, path: str, *, user: str = "ada", offset: int = 0, length: int = MAX_READ
    ) -> dict[str, object]:
        answer: dict[str, object] = self.client.call(
            "read", user=user, path=path, offset=offset, length=length
        )
        return answer


def start(base: Path, *, client_uid: int = 0, roots: str = "", deadline_s: float = 10) -> Place:
    environment = {
        "PATH": os.environ["PATH"],
        "SLUICE_FILES_SOCKET": str(base / "run" / "files.sock"),
        "SLUICE_FILES_ROOTS": roots or str(base / "home"),
        "SLUICE_FILES_USERS_DIR": str(base / "users"),
        "SLUICE_FILES_CLIENT_UID": str(client_uid),
        "SLUICE_FILES_DEADLINE_S": str(deadline_s),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    least = [
        "setpriv",
        "--bounding-set",
        "-all,+setuid,+setgid",
        "--inh-caps",
        "-all",
        "--no-new-privs",
        "--clear-groups",
    ]
    command = [*least, sys.executable, "-m", "gateway.file_agent"]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    sock = base / "run" / "files.sock"

    def listening() -> bool:
        assert process.poll() is None, process.stdout.read().decode() if process.stdout else ""
        return sock.exists() and stat.S_IMODE(sock.stat().st_mode) == 0o666

    wait_for(listening, "the file-agent's socket", deadline_s=20)
    return Place(base, Client(str(sock), "file-agent"), process)


def stop(place: Place) -> int:
    place.client.close()
    place.process.send_signal(signal.SIGTERM)
    try:
        return place.process.wait(timeout=10)
    finally:
        if place.process.stdout:
            place.process.stdout.close()


def shared_folders() -> Path:
    base = Path(tempfile.mkdtemp(prefix="sluice-files-"))
    base.chmod(0o755)
    for name, uid, mode in (("home", 0, 0o755), ("run", 0, 0o755), ("users", 0, 0o755)):
        (base / name).mkdir(mode=mode)
        os.chown(base / name, uid, uid)
    for name, uid in (("ada", ADA), ("bela", BELA)):
        (base / "home" / name).mkdir(mode=0o700)
        os.chown(base / "home" / name, uid, uid)
    (base / "users" / "passwd").write_text(PASSWD)
    (base / "users" / "group").write_text(GROUP)
    return base


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    base = shared_folders()
    place = start(base)
    yield place
    assert stop(place) == 0
    shutil.rmtree(base)


# What a user can read.


def test_the_owner_reads_an_own_file_whole_and_in_pieces(place: Place) -> None:
    path = place.file("ada/whole", b"0123456789")
    assert place.answer(path) == {"data": b"0123456789", "size": 10, "offset": 0, "disk_full": False}
    assert place.answer(path, offset=3, length=4) == {
        "data": b"3456",
        "size": 10,
        "offset": 3,
        "disk_full": False,
    }
    assert place.answer(path, offset=-3) == {"data": b"789", "size": 10, "offset": 7, "disk_full": False}
    assert place.answer(path, offset=-99, length=2) == {
        "data": b"01",
        "size": 10,
        "offset": 0,
        "disk_full": False,
    }
    assert place.answer(path, offset=2**62) == {"data": b"", "size": 10, "offset": 2**62, "disk_full": False}
    assert place.answer(path, length=0) == {"data": b"", "size": 10, "offset": 0, "disk_full": False}


def test_bytes_that_are_no_text_pass_unchanged_up_to_the_limit(place: Place) -> None:
    data = os.urandom(MAX_READ + 5)
    path = place.file("ada/binary", data)
    assert place.read(path) == data[:MAX_READ]
    assert place.read(path, offset=MAX_READ) == data[MAX_READ:]


def test_a_file_that_was_truncated_behind_the_reader_gives_what_there_is(place: Place) -> None:
    path = place.file("ada/short", b"x" * 100)
    os.truncate(path, 10)
    assert place.answer(path, offset=50) == {"data": b"", "size": 10, "offset": 50, "disk_full": False}


def test_stat_tells_size_and_time(place: Place) -> None:
    path = place.file("ada/timed", b"123")
    os.utime(path, (1_790_000_000, 1_790_000_000))
    assert place.client.call("stat", user="ada", path=path) == {
        "size": 3,
        "mtime": datetime.fromtimestamp(1_790_000_000, UTC),
    }


def test_a_supplementary_group_opens_a_group_readable_file(place: Place) -> None:
    (place.home / "lab").mkdir(mode=0o750)
    os.chown(place.home / "lab", BELA, LAB)
    path = place.file("lab/shared", b"for the lab", uid=BELA, gid=LAB, mode=0o640)
    assert place.read(path) == b"for the lab"


def test_a_folder_that_is_a_link_inside_the_root_is_followed_as_the_user(place: Place) -> None:
    place.file("ada/inside", b"inside")
    place.link("ada/relative", "../ada")
    place.link("ada/absolute", str(place.home / "ada"))
    assert place.read(str(place.home / "ada/relative/inside")) == b"inside"
    assert place.read(str(place.home / "ada/absolute/relative/../ada/inside")) == b"inside"


# What nobody gets.


def test_another_users_private_file_is_refused_by_every_way_to_it(place: Place) -> None:
    secret = place.file("bela/secret", SECRET, uid=BELA)
    place.home.joinpath("bela").chmod(0o755)  # only the file's own mode protects it now
    place.link("ada/door", str(place.home / "bela"))
    place.link("ada/secret-link", secret)
    place.link("ada/hop", "secret-link")
    for path in (secret, str(place.home / "ada/door/secret"), str(place.home / "ada/../bela/secret")):
        for op in ("read", "stat"):
            with pytest.raises(Denied, match="ada may not read"):
                place.client.call(op, user="ada", path=path)
    for path in ("ada/secret-link", "ada/hop"):
        with pytest.raises(InputError, match="symbolic link"):
            place.read(str(place.home / path))
    assert place.read(secret, user="bela") == SECRET


def test_a_closed_folder_of_another_user_is_refused(place: Place) -> None:
    (place.home / "bela" / "closed").mkdir(mode=0o700)
    os.chown(place.home / "bela" / "closed", BELA, BELA)
    path = place.file("bela/closed/open-mode", SECRET, uid=BELA, mode=0o644)
    with pytest.raises(Denied):
        place.read(path)


def test_roots_files_are_refused_to_users_and_root_is_no_user(place: Place) -> None:
    path = place.file("roots-own", b"root", uid=0, mode=0o600)
    with pytest.raises(Denied, match="ada may not"):
        place.read(path)
    with pytest.raises(Denied, match="system account"):
        place.read(path, user="root")
    with pytest.raises(NotFound, match="no user 'nobody'"):
        place.read(path, user="nobody")


@pytest.mark.parametrize("target", ["/etc", "/proc/self", "../../../../etc", "/"])
def test_a_link_can_not_lead_out_of_the_shared_root(place: Place, target: str) -> None:
    name = f"ada/out-{abs(hash(target))}"
    place.link(name, target)
    with pytest.raises(InputError, match=r"local to a node|leaves the shared folder"):
        place.read(str(place.home / name / "passwd"))


def test_a_loop_of_links_ends(place: Place) -> None:
    place.link("ada/loop", "loop")
    with pytest.raises(InputError, match="symbolic links"):
        place.read(str(place.home / "ada/loop/x"))


def test_what_is_no_regular_file_is_refused_at_once(place: Place) -> None:
    fifo, device = place.home / "ada/fifo", place.home / "ada/null"
    os.mkfifo(fifo)
    os.chown(fifo, ADA, ADA)
    os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    with socket.socket(socket.AF_UNIX) as listener:
        with contextlib.chdir(place.home / "ada"):  # a socket's path is short
            listener.bind("sock")
        for name, words in (
            ("fifo", "a FIFO"),
            ("null", "a device"),
            ("sock", "a socket"),
            ("", "a directory"),
        ):
            with pytest.raises(InputError, match=words):
                place.read(str(place.home / "ada" / name))


@pytest.mark.parametrize("path", ["/tmp/slurm-1.out", "/etc/passwd", "/proc/self/environ"])
def test_paths_outside_the_roots_say_how_to_mend_it(place: Place, path: str) -> None:
    with pytest.raises(InputError, match=r"local to a node.*--output=FILE"):
        place.read(path)


def test_a_file_that_is_not_there_is_not_found(place: Place) -> None:
    place.file("ada/plain", b"")
    for name in ("ada/absent", "ada/absent/x", "ada/plain/x"):
        with pytest.raises(NotFound, match="does not exist"):
            place.read(str(place.home / name))


@pytest.mark.parametrize(
    "args",
    [
        {"offset": 2**63},
        {"offset": -(2**63)},
        {"length": MAX_READ + 1},
        {"length": -1},
        {"offset": "0"},
        {"offset": True},
        {"user": None},
        {"user": ""},
        {"path": b"/home/ada/x"},
    ],
)
def test_nonsense_is_refused_in_words(place: Place, args: dict[str, object]) -> None:
    request: dict[str, object] = {"user": "ada", "path": str(place.home / "ada/plain"), **args}
    with pytest.raises(InputError):
        place.client.call("read", **request)  # type: ignore[arg-type]


def test_only_the_gateways_uid_may_ask() -> None:
    base = shared_folders()
    place = start(base, client_uid=7700)
    try:
        with pytest.raises(SluiceError, match=r"uid 0 may not speak"):
            place.read(str(place.home / "ada/x"))
    finally:
        stop(place)
        shutil.rmtree(base)


# How it behaves under load and faults.


def test_many_readers_at_once_each_get_their_own_bytes(place: Place) -> None:
    ada = place.file("ada/many", b"a" * 200_000)
    bela = place.file("bela/many", b"b" * 200_000, uid=BELA)

    def one(number: int) -> bool:
        user, path, byte = (("ada", ada, b"a"), ("bela", bela, b"b"))[number % 2]
        return place.read(path, user=user) == byte * 200_000

    with ThreadPoolExecutor(12) as pool:
        assert all(pool.map(one, range(200)))


def test_a_file_system_that_hangs_blocks_neither_the_server_nor_other_users(place: Place) -> None:
    """The hang is a stopped child: SIGSTOP is as deaf to the alarm as a dead NFS server."""
    base = shared_folders()
    slow = start(base, deadline_s=1)
    path = slow.file("ada/x", b"x")
    try:
        caught: list[Exception] = []
        stopper = threading.Event()

        def stop_children() -> None:
            while not stopper.is_set():
                for pid in children_of_uid(slow.process.pid, ADA):
                    os.kill(pid, signal.SIGSTOP)

        watcher = threading.Thread(target=stop_children)
        watcher.start()
        try:
            for _ in range(200):
                try:
                    slow.read(path)
                except Unavailable as error:
                    caught.append(error)
                    break
        finally:
            stopper.set()
            watcher.join()
        assert caught, "no child was stopped in 200 reads"
        assert "did not answer within 1 s" in str(caught[0])
        assert slow.read(slow.file("bela/y", b"y", uid=BELA), user="bela") == b"y"
        for pid in children_of_uid(slow.process.pid, ADA):
            os.kill(pid, signal.SIGCONT)
        assert slow.read(path) == b"x"
    finally:
        stop(slow)
        shutil.rmtree(base)


def test_when_the_spawner_dies_the_agent_ends_to_be_started_afresh() -> None:
    base = shared_folders()
    place = start(base)
    try:
        (spawner,) = children_of(place.process.pid)
        os.kill(spawner, signal.SIGKILL)
        assert place.process.wait(timeout=10) == 1
    finally:
        if place.process.stdout:
            place.process.stdout.close()
        shutil.rmtree(base)


def test_the_agents_capabilities_are_those_of_its_container(place: Place) -> None:
    status = Path(f"/proc/{place.process.pid}/status").read_text()
    permitted = next(line for line in status.splitlines() if line.startswith("CapPrm"))
    assert int(permitted.split()[1], 16) == (1 << 6) | (1 << 7)  # capability.h: CAP_SETGID 6, CAP_SETUID 7


def children_of(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []


def children_of_uid(server: int, uid: int) -> list[int]:
    found = []
    for spawner in children_of(server):
        for child in children_of(spawner):
            try:
                if _real_uid(child) == uid:
                    found.append(child)
            except (FileNotFoundError, ProcessLookupError):
                continue
    return found


def _real_uid(pid: int) -> int:
    line = next(x for x in Path(f"/proc/{pid}/status").read_text().splitlines() if x.startswith("Uid:"))
    return int(line.split()[1])
