import errno
import os
from dataclasses import replace
from pathlib import Path

import pytest

from bridge.errors import Denied, InputError, NotFound, SluiceError, Unavailable
from gateway.file_agent.config import Settings
from gateway.file_agent.work import Work, failure, is_full

WORK = Work(
    op="read",
    user="ada",
    uid=20000,
    gid=20000,
    groups=(30000,),
    path="/home/ada/x",
    length=1,
    roots=("/home",),
    deadline_s=1.0,
)


def test_work_survives_the_way_to_the_spawner() -> None:
    assert Work.from_map(WORK.as_map()) == WORK


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.ENOENT, NotFound),
        (errno.ENOTDIR, NotFound),
        (errno.EACCES, Denied),
        (errno.EPERM, Denied),
        (errno.ELOOP, InputError),
        (errno.ENAMETOOLONG, InputError),
        (errno.EIO, Unavailable),
        (errno.ESTALE, Unavailable),
        (errno.EMFILE, Unavailable),
    ],
)
def test_the_kernels_refusals_become_sentences_by_number(number: int, kind: type[SluiceError]) -> None:
    error = failure(OSError(number, os.strerror(number)), WORK)
    assert type(error) is kind
    assert "/home/ada/x" in error.message


@pytest.mark.parametrize("roots", ["", "home", "/", "/home/../etc", "/home:"])
def test_roots_must_be_folders_below_the_root(roots: str) -> None:
    with pytest.raises(ValueError, match="not an absolute folder"):
        Settings(roots=roots)


def test_the_socket_may_not_lie_where_users_write() -> None:
    with pytest.raises(ValueError, match="inside a shared root"):
        Settings(roots="/home", socket="/home/ada/files.sock")


def statvfs(*, free: int, names: int = 5) -> os.statvfs_result:
    return os.statvfs_result((4096, 4096, 100, free, free, 100, names, names, 0, 255))


@pytest.mark.parametrize(
    ("disk", "full"),
    [
        (statvfs(free=1000), False),
        (statvfs(free=0), True),
        (statvfs(free=3), True),
        (statvfs(free=1000, names=0), True),
    ],
)
def test_a_disk_without_room_for_lines_or_names_is_full(
    disk: os.statvfs_result, full: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "statvfs", lambda _place: disk)
    assert is_full(0) is full
    missing = failure(OSError(errno.ENOENT, "no such file"), WORK)
    assert missing.details["disk_full"] is full


def test_the_disk_of_what_does_not_exist_is_that_of_the_nearest_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    def disk(place: object) -> os.statvfs_result:
        asked.append(place)
        if str(place) != str(tmp_path):
            raise FileNotFoundError
        return statvfs(free=0)

    monkeypatch.setattr(os, "statvfs", disk)
    work = replace(WORK, path=f"{tmp_path}/a/b/c.out")
    assert failure(OSError(errno.ENOENT, "no such file"), work).details["disk_full"] is True
    assert asked == [f"{tmp_path}/a/b", f"{tmp_path}/a", f"{tmp_path}"]
