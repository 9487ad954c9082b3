import errno
import os

import pytest

from bridge.errors import Denied, InputError, NotFound, SluiceError, Unavailable
from gateway.file_agent.config import Settings
from gateway.file_agent.work import Work, failure

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
