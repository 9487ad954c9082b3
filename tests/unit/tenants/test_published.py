"""Files for other pods: only what differs, in an order that slurmctld can read, and known to be there."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from bridge.errors import Unavailable
from bridge.sync.folders import Folders
from bridge.tenants.published import Published


@pytest.fixture
def published(tmp_path: Path) -> Published:
    for name in ("users", "policy"):
        (tmp_path / name).mkdir()
    (tmp_path / "users" / "passwd").write_text("ada:x:20000:20000::/home/ada:/bin/bash\n")
    (tmp_path / "users" / "shadow").write_text("ada:*:20000:0:99999:7:::\n")
    (tmp_path / "policy" / "table.lua").write_text("return 1\n")
    (tmp_path / "policy" / "job_submit.lua").write_text("-- rules\n")
    return Published(users_dir=tmp_path / "users", policy_dir=tmp_path / "policy")


def fetch(published: Published, folders: Folders, caller: str = "") -> tuple[str, ...]:
    found = published.changed(caller=caller, have=folders.have())
    return folders.put({name: content.data for name, content in found.items()})


def test_a_pod_gets_what_it_lacks_and_nothing_twice(published: Published, tmp_path: Path) -> None:
    login = Folders(users_dir=tmp_path / "login", policy_dir=None)
    assert set(fetch(published, login)) == {"passwd", "shadow"}
    assert fetch(published, login) == ()
    assert (tmp_path / "login" / "shadow").stat().st_mode & 0o777 == 0o600
    assert not (tmp_path / "login" / "table.lua").exists()


def test_new_rules_give_the_script_a_new_time_after_the_table(published: Published, tmp_path: Path) -> None:
    ctld = Folders(users_dir=None, policy_dir=tmp_path / "ctld")
    fetch(published, ctld)
    script = tmp_path / "ctld" / "job_submit.lua"
    before = int(script.stat().st_mtime)
    (tmp_path / "policy" / "table.lua").write_text("return 2\n")
    assert fetch(published, ctld) == ("table.lua", "job_submit.lua")
    assert int(script.stat().st_mtime) > before
    assert (tmp_path / "ctld" / "table.lua").read_text() == "return 2\n"


def test_what_the_bridge_lacks_is_not_taken_away(published: Published, tmp_path: Path) -> None:
    login = Folders(users_dir=tmp_path / "login", policy_dir=None)
    fetch(published, login)
    (tmp_path / "users" / "passwd").unlink()
    assert fetch(published, login) == ()
    assert (tmp_path / "login" / "passwd").exists()


def test_a_new_user_waits_until_slurmctld_has_it(published: Published, tmp_path: Path) -> None:
    ctld = Folders(users_dir=tmp_path / "ctld", policy_dir=None)
    with pytest.raises(Unavailable):
        published.wait_for_slurmctld(seconds=0)
    waiting = threading.Thread(target=published.wait_for_slurmctld, kwargs={"seconds": 30})
    waiting.start()
    fetch(published, ctld, "slurmctld")
    fetch(published, ctld, "slurmctld")
    waiting.join(10)
    assert not waiting.is_alive()
    (tmp_path / "users" / "passwd").write_text("eve:x:20001:20001::/home/eve:/bin/bash\n")
    with pytest.raises(Unavailable):
        published.wait_for_slurmctld(seconds=0)
