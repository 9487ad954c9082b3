from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.errors import InputError, TenantError
from bridge.policy.documents import Sourced
from bridge.policy.tenant import Tenant
from bridge.tenants.users import UserFiles, allocate, full_names, render
from bridge.wellknown import FIRST_TENANT_UID, LAST_TENANT_UID


def sourced(name: str, members: dict[str, int | None]) -> Sourced:
    entries = [{"user": user} | ({"uid": uid} if uid else {}) for user, uid in members.items()]
    return Sourced(f"{name}.yaml", Tenant.model_validate({"name": name, "members": entries}))


_users = st.lists(st.sampled_from(["ada", "bela", "chen", "dina", "emil"]), unique=True)


@given(steps=st.lists(_users, max_size=8))
def test_a_uid_never_changes_and_is_never_given_again(steps: list[list[str]]) -> None:
    known: dict[str, int] = {}
    for users in steps:
        after = allocate(known, [sourced("astro", dict.fromkeys(users))])
        assert after.items() >= known.items()
        assert len(set(after.values())) == len(after)
        assert set(users) <= set(after)
        assert all(FIRST_TENANT_UID <= uid <= LAST_TENANT_UID for uid in after.values())
        known = after


def test_a_fixed_uid_is_taken_and_the_others_go_around_it() -> None:
    given_uids = allocate({}, [sourced("astro", {"ada": None, "bela": 20000, "chen": 20001})])
    assert given_uids == {"bela": 20000, "chen": 20001, "ada": 20002}


def test_a_uid_of_somebody_who_left_is_refused_by_name() -> None:
    with pytest.raises(TenantError, match=r"astro\.yaml: members\[0\]\.uid: uid 20005 is or was user zoe's"):
        allocate({"zoe": 20005}, [sourced("astro", {"ada": 20005})])
    with pytest.raises(TenantError, match="user ada has uid 20005 already and keeps it"):
        allocate({"ada": 20005}, [sourced("astro", {"ada": 20006})])


def test_a_used_up_range_is_said() -> None:
    with pytest.raises(InputError, match="no uid is left for ada"):
        allocate({"zoe": LAST_TENANT_UID}, [sourced("astro", {"ada": None})])


def test_a_hostile_display_name_cannot_add_a_line_or_a_field() -> None:
    tenant = Tenant.model_validate({"name": "astro", "members": [{"user": "ada"}]})
    tenant = tenant.model_copy(update={"display_name": "A:0:0\nroot:x"})  # as a document never may
    files = render({"ada": 20000}, full_names([Sourced("a", tenant)]))
    assert files.passwd == "ada:x:20000:20000:A00rootx:/home/ada:/bin/bash\n"
    assert files.group == "ada:x:20000:\n"


def test_files_are_rewritten_only_when_something_changes(tmp_path: Path) -> None:
    users = UserFiles(tenants_dir=tmp_path / "tenants", users_dir=tmp_path / "users")
    assert users.known() == {}
    assert users.write({"ada": 20000}, {})
    assert not users.write({"ada": 20000}, {})
    assert users.known() == {"ada": 20000}
    assert (tmp_path / "users" / "shadow").stat().st_mode & 0o777 == 0o600


def test_a_registry_that_cannot_be_read_stops_the_allocation(tmp_path: Path) -> None:
    users = UserFiles(tenants_dir=tmp_path, users_dir=tmp_path)
    users.registry.write_text("[1,")
    with pytest.raises(TenantError, match="a uid could be given twice"):
        users.known()
