from pathlib import Path

import pytest

from bridge.errors import Denied, NotFound, Unavailable
from bridge.wellknown import SLUICE_UID
from gateway.file_agent.users import Identity, Users

PASSWD = """\
ada:x:20000:20000:Ada:/home/ada:/bin/bash
bela:x:20001:20001::/home/bela:/bin/bash
boss:x:0:0::/root:/bin/sh
"""
GROUP = """\
ada:x:20000:
bela:x:20001:
lab:x:30000:ada,bela
shadow:x:42:ada
slurm:x:64030:ada
sluice:x:7700:ada
"""


def folder(tmp_path: Path, passwd: str = PASSWD, group: str | None = GROUP) -> Path:
    (tmp_path / "passwd").write_text(passwd)
    if group is not None:
        (tmp_path / "group").write_text(group)
    return tmp_path


def test_a_user_has_uid_gid_and_groups_but_never_a_system_group(tmp_path: Path) -> None:
    assert Users(folder(tmp_path)).identity("ada") == Identity("ada", 20000, 20000, (30000,))


def test_an_unknown_user_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no user 'zoe'"):
        Users(folder(tmp_path)).identity("zoe")


@pytest.mark.parametrize(
    "line", ["boss:x:0:0::/root:/bin/sh", "boss:x:19999:20000::/:/bin/sh", "boss:x:20000:0::/:/bin/sh"]
)
def test_system_accounts_and_system_groups_are_refused(tmp_path: Path, line: str) -> None:
    with pytest.raises(Denied, match="system account"):
        Users(folder(tmp_path, line + "\n")).identity("boss")


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    users = Users(folder(tmp_path))
    assert users.identity("bela").uid == 20001
    fresh = tmp_path / "passwd.new"
    fresh.write_text(PASSWD.replace("20001", "20009"))
    fresh.replace(tmp_path / "passwd")
    assert users.identity("bela").uid == 20009


def test_without_a_group_file_users_have_their_primary_group_alone(tmp_path: Path) -> None:
    assert Users(folder(tmp_path, group=None)).identity("ada").groups == ()


def test_without_a_passwd_file_nothing_is_guessed(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="local users"):
        Users(tmp_path).identity("ada")


def test_lines_that_are_no_entries_are_left_out(tmp_path: Path) -> None:
    users = Users(
        folder(tmp_path, "# comment\n\nx:y\nada:x:abc:1:\n" + PASSWD, "lab\nlab:x:zz:ada\n" + GROUP)
    )
    assert users.identity("ada").groups == (30000,)


def test_users_of_the_sites_directory_have_the_sites_uids(tmp_path: Path) -> None:
    (tmp_path / "passwd").write_text("ada:x:20000:20000::/home/ada:/bin/bash\n")
    lines = (
        "lena:x:5001:5000:::",
        "ada:x:5002:5000:::",
        "daemon2:x:999:5000:::",
        "disk:x:5003:6:::",
        f"ours:x:{SLUICE_UID}:5000:::",
    )
    (tmp_path / "site-passwd").write_text("\n".join(lines) + "\n")
    users = Users(tmp_path)
    assert (users.identity("lena").uid, users.identity("lena").gid) == (5001, 5000)
    assert users.identity("ada").uid == 20000, "of one name the local user counts, as in NSS"
    for name in ("daemon2", "disk", "ours"):
        with pytest.raises(Denied):
            users.identity(name)
    (tmp_path / "passwd").write_text("ada:x:5002:20000::/home/ada:/bin/bash\n")
    with pytest.raises(Denied):
        users.identity("ada")
