from __future__ import annotations

from pathlib import Path

import pytest

from bridge.errors import TenantError
from bridge.tenants.source import MAX_BYTES, Folder, Text, parse, parse_all, replace_file
from tests.support.bad_documents import BAD_DOCUMENTS
from tests.unit.tenants.site import examples

GOOD = "name: astro\nmembers: [{user: ada}]\nflavors: {h100: {limit: 2}}\n"


def fault(text: str) -> tuple[str, str]:
    sourced, faults = parse(Text("astro.yaml", text))
    assert sourced is None
    assert faults[0].file == "astro.yaml"
    return faults[0].path, faults[0].message


def test_the_examples_are_good_and_named_as_their_files() -> None:
    assert [f"{sourced.tenant.name}.yaml" for sourced in parse_all(examples())] == [
        text.file for text in examples()
    ]


@pytest.mark.parametrize(
    ("change", "path", "words"),
    [
        (("astro", "Astro"), "name", "small letters"),
        (("astro", "\u0430stro"), "name", "small letters"),  # a Cyrillic a
        (("astro", "root"), "name", "'root' is reserved"),
        (("astro", "normal"), "name", "reserved"),
        (("astro", "training"), "name", "reserved"),
        (("astro", "a" * 41), "name", "at most 30 characters"),
        (("astro", "'; drop table user"), "line 4, column 1", "YAML"),
        (("astro", "'a;b'"), "name", "small letters"),
        (("ada", "root"), "members[0].user", "of the system itself"),
        (("ada", "sudo"), "members[0].user", "of the system itself"),
        (("ada", "shadow"), "members[0].user", "of the system itself"),
        (("ada", "docker"), "members[0].user", "of the system itself"),
        (("ada", "'$(id)'"), "members[0].user", "small letters"),
        (("ada", "true"), "members[0].user", "give a text"),
        (("user: ada", "user: ada, uid: 0"), "members[0].uid", "give at least 20000"),
        (("user: ada", "user: ada, uid: '20000'"), "members[0].uid", "give a whole number"),
        (("user: ada", "user: ada, rôle: x"), "members[0].rôle", "unknown key"),
        (("user: ada", "user: 12"), "members[0].user", "give a text"),
        (("{user: ada}", "{user: ada}, {user: ada}"), "", "members names ada twice"),
        (("{user: ada}", "ada"), "members[0]", "give a mapping"),
        (("limit: 2", "limit: 0"), "flavors.h100.limit", "give at least 1"),
        (("limit: 2", "limit: 4294967296"), "flavors.h100.limit", "at most 1000000000"),
        (("members: [{user: ada}]", 'display_name: "a\\nb"'), "display_name", "one line"),
        (("members: [{user: ada}]", 'display_name: "a\\0b"'), "display_name", "one line"),
        (("limit: 2", "limit: 2.5"), "flavors.h100.limit", "give a whole number"),
        (("limit: 2", "limit: true"), "flavors.h100.limit", "give a whole number"),
        (("limit: 2", "limit: 12:00"), "flavors.h100.limit", "give a whole number"),
        (("limit: 2", "guarantee: 3, limit: 2"), "flavors.h100", "guarantee 3 is above limit 2"),
        (("limit: 2", "limits: 2"), "flavors.h100.limit", "limit is missing"),
        (("flavors", "flavours"), "flavours", "unknown key 'flavours'; known keys here are name"),
        (("members: [{user: ada}]", "weight: 0"), "weight", "weight is 0; give at least 1"),
        (("members: [{user: ada}]", "weight: 70000"), "weight", "at most 65533"),
        (("members: [{user: ada}]", "members: ada"), "members", "give a list"),
        (("members: [{user: ada}]", "parent: astro"), "", "parent is the tenant itself"),
        (
            ("members: [{user: ada}]", "classes: {allowed: [fast]}"),
            "classes.allowed[0]",
            "choose 'production'",
        ),
        (("members: [{user: ada}]", "classes: {allowed: []}"), "classes.allowed", "name at least one"),
        (("members: [{user: ada}]", "classes: {default: production}"), "classes", "is not among allowed"),
        (
            ("members: [{user: ada}]", "classes: {allowed: [production], default: production}"),
            "",
            "no flavor has a guarantee",
        ),
        (("members: [{user: ada}]", "budget: {}"), "budget", "either gpu_hours or money"),
        (("members: [{user: ada}]", "budget: {gpu_hours: 1, money: 1, currency: EUR}"), "budget", "one of"),
        (("members: [{user: ada}]", "budget: {money: 10}"), "budget", "money and currency go together"),
        (("members: [{user: ada}]", "budget: {gpu_hours: 0}"), "budget.gpu_hours", "at least 1"),
        (("members: [{user: ada}]", "budget: {money: 0, currency: EUR}"), "budget.money", "more than 0"),
        (("members: [{user: ada}]", "budget: {money: x, currency: EUR}"), "budget.money", "an amount"),
        (
            ("members: [{user: ada}]", "budget: {money: 1.005, currency: EUR}"),
            "budget.money",
            "at most 2 dig",
        ),
        (("members: [{user: ada}]", "budget: {money: 1, currency: eur}"), "budget.currency", "capital"),
        (("members: [{user: ada}]", "namespaces: [A]"), "namespaces[0]", "as Kubernetes takes them"),
        (("members: [{user: ada}]", "namespaces: [kube-system]"), "namespaces", "the system's own"),
        (("members: [{user: ada}]", "namespaces: [a, a]"), "namespaces", "names a twice"),
        (("members: [{user: ada}]", "price_book: X"), "price_book", "small letters"),
        (
            ("members: [{user: ada}]", "limits: {max_walltime_min: 5, default_walltime_min: 6}"),
            "limits",
            "default_walltime_min 6 is above",
        ),
    ],
)
def test_a_wrong_value_is_named_by_path_with_the_remedy(
    change: tuple[str, str], path: str, words: str
) -> None:
    where, message = fault(GOOD.replace(*change, 1))
    assert words in message
    assert where == path


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the document is empty"),
        ("- a\n- b\n", "give a mapping"),
        ("just words", "give a mapping"),
        ("name: [", "not readable as YAML"),
        ("name: a\nname: b\n", "key 'name' is here twice"),
        ("flavors: {h100: {limit: 1}, h100: {limit: 2}}\n", "key 'h100' is here twice"),
        ("a: &x [1]\nb: *x\n", "aliases"),
        ("a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]\n", "aliases"),
        ("[" * 50 + "]" * 50, "nested deeper"),
        ("[" * 100_000, "nested deeper"),
        ("name: !!python/object/apply:os.system ['id']\n", "tags (!name) are not taken"),
        ("weight: !!bool foo\n", "tags (!name) are not taken"),
        ("weight: !!timestamp foo\n", "tags (!name) are not taken"),
        ("weight: !!int ''\n", "tags (!name) are not taken"),
        ("weight: !!int 0x10\n", "tags (!name) are not taken"),
        ("weight: !!float ''\n", "tags (!name) are not taken"),
        ("members: !!set {a}\n", "tags (!name) are not taken"),
        ("name: a\n---\nname: b\n", "a file of its own"),
        ("name: \0", "not readable as YAML"),
        ("#" * (10 * 1024 * 1024), "above the limit"),
        ("<<: {name: a}\n", "name is missing"),  # no merging: << is a key like any other
    ],
)
def test_a_file_that_is_no_document_is_refused(text: str, words: str) -> None:
    assert words in fault(text)[1]


def test_all_faults_of_all_files_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(TenantError, match=r"a\.yaml: .*\(and 2 more\); nothing was applied") as caught:
        parse_all([Text("a.yaml", GOOD.replace("limit: 2", "limit: 0, x: 1")), Text("b.yaml", "")])
    errors = caught.value.details["errors"]
    assert isinstance(errors, list)
    assert [error["file"] for error in errors] == ["a.yaml", "a.yaml", "b.yaml"]


def test_the_folder_reads_only_documents_and_refuses_what_is_not_text(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.write({"astro.yaml": GOOD})
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / ".uids.json").write_text("{}")
    assert folder.texts() == (Text("astro.yaml", GOOD),)
    (tmp_path / "bad.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(TenantError, match=r"bad\.yaml: not UTF-8"):
        folder.texts()
    (tmp_path / "bad.yaml").write_bytes(b"#" * (MAX_BYTES + 5))
    with pytest.raises(TenantError, match="above the limit"):
        parse_all(folder.texts())


@pytest.mark.parametrize("kind", BAD_DOCUMENTS)
def test_each_kind_of_bad_file_is_refused_by_name(tmp_path: Path, kind: str) -> None:
    body, words = BAD_DOCUMENTS[kind]
    (tmp_path / "bad.yaml").write_bytes(body)
    with pytest.raises(TenantError) as refused:
        parse_all(Folder(tmp_path).texts())
    assert refused.value.message.startswith("bad.yaml: ")
    assert words in refused.value.message


def test_replacing_a_file_with_the_same_bytes_leaves_it_alone(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert replace_file(path, b"one", mode=0o600)
    inode = path.stat().st_ino
    assert not replace_file(path, b"one", mode=0o600)
    assert path.stat().st_ino == inode
    assert replace_file(path, b"two", mode=0o600)
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"two", 0o600)
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]
