"""The audit log: append-only, whole after a crash, written before the document."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bridge.errors import TenantError
from bridge.tenants.audit import AuditLog, Entry
from bridge.tenants.source import Folder
from tests.unit.tenants.site import MOMENT, Site, document


def entry(number: int, tenant: str = "astro") -> Entry:
    moment = datetime(2026, 11, 30, tzinfo=UTC) + timedelta(seconds=number)
    return Entry(at=moment, actor="x", change="change", tenant=tenant, before=None, after=f"é\n{number}")


def test_entries_come_back_newest_first_and_by_tenant(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "not" / "there")
    assert log.entries() == ()
    log.append([entry(1), entry(2, "other")])
    log.append([entry(3)])
    assert log.entries() == (entry(3), entry(2, "other"), entry(1))
    assert log.entries("astro", limit=1) == (entry(3),)
    assert log.path.stat().st_mode & 0o777 == 0o600


def test_a_line_that_a_crash_cut_short_costs_that_line_alone(tmp_path: Path) -> None:
    log = AuditLog(tmp_path)
    log.append([entry(1), entry(2)])
    log.path.write_bytes(log.path.read_bytes()[:-9])
    log.append([entry(3)])
    assert log.entries() == (entry(3), entry(1))


def test_what_was_written_stays_byte_for_byte(tmp_path: Path) -> None:
    log = AuditLog(tmp_path)
    log.append([entry(1)])
    before = log.path.read_bytes()
    log.append([])
    log.append([entry(2)])
    assert log.path.read_bytes().startswith(before)


def test_a_full_file_is_put_aside_and_still_read(tmp_path: Path) -> None:
    log = AuditLog(tmp_path, most_bytes=300)
    for number in range(20):
        log.append([entry(number, "other" if number % 5 else "astro")])
    assert len(list(tmp_path.glob(".audit.*.jsonl"))) > 5
    assert log.path.stat().st_size < 600
    again = AuditLog(tmp_path, most_bytes=300)
    assert [each.after for each in again.entries()] == [entry(number).after for number in range(19, -1, -1)]
    assert again.entries("astro", limit=2) == (entry(15), entry(10))
    assert again.entries(limit=0) == ()


def test_each_change_of_a_document_is_recorded_and_no_other_pass_is(tmp_path: Path) -> None:
    site = Site(tmp_path)
    first, second = document("astro", "ada"), document("astro", "ada", weight="4")
    site.apply(first)
    site.apply(first)
    site.tenants.reconcile()
    site.tenants.validate([second])
    site.apply(second)
    with pytest.raises(TenantError):
        site.apply(document("astro", "ada", weight="0"))
    site.tenants.remove("astro", actor="somebody")
    found = site.restarted().history()
    shown = [(entry.change, entry.actor, entry.before, entry.after) for entry in reversed(found)]
    assert shown == [
        ("create", "test", None, first.text),
        ("change", "test", first.text, second.text),
        ("remove", "somebody", second.text, None),
    ]
    assert {entry.at for entry in found} == {MOMENT}


def test_the_record_is_there_before_the_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = Site(tmp_path)

    def full(_self: Folder, _documents: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(Folder, "write", full)
    with pytest.raises(OSError, match="no space"):
        site.apply(document("astro", "ada"))
    assert [entry.tenant for entry in site.tenants.history()] == ["astro"]
