"""Tenant documents that are none, of each kind that somebody sends: every door refuses all of them alike."""

from __future__ import annotations

from typing import Final

_GOOD: Final = "name: merlin\nmembers: [{user: ada}]\nflavors: {h100: {limit: 2}}\n"
_BOMB: Final = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10))


def _named(name: str) -> bytes:
    return _GOOD.replace("merlin", name, 1).encode()


BAD_DOCUMENTS: Final[dict[str, tuple[bytes, str]]] = {
    "no bytes": (b"", "the document is empty"),
    "one megabyte": (_GOOD.encode() + b"#" * 1_000_000, "above the limit"),
    "ten megabytes": (_GOOD.encode() + b"#" * 10_000_000, "above the limit"),
    "anchor bomb": (f"a0: &a0 [x, x]\n{_BOMB}".encode(), "aliases"),
    "deep nesting": (b"members: " + b"[" * 1000, "nested deeper"),
    "duplicate key": (_GOOD.encode() + b"weight: 1\nweight: 2\n", "key 'weight' is here twice"),
    "cyrillic look-alike": (_named("m\u0435rlin"), "small letters a-z"),
    "fullwidth look-alike": (_named("\uff4derlin"), "small letters a-z"),
    "look-alike of a user": (_GOOD.replace("ada", "\u0430da").encode(), "small letters a-z"),
    "shell characters": (_named("'$(reboot)'"), "small letters a-z"),
    "shell characters in a user": (_GOOD.replace("ada", "'a;id'").encode(), "small letters a-z"),
    "sql characters": (_named('"x\'; drop table user_table; --"'), "small letters a-z"),
    "control characters": (_named('"mer\\x00lin"'), "small letters a-z"),
    "reserved name root": (_named("root"), "'root' is reserved"),
    "reserved name normal": (_named("normal"), "'normal' is reserved"),
    "reserved user": (_GOOD.replace("ada", "slurm").encode(), "of the system itself"),
    "name of 41 bytes": (_named("m" * 41), "at most 30 characters"),
    "not utf-8": (b"name: m\xffrlin\n", "not UTF-8"),
    "a python object": (b"name: !!python/object/apply:os.system ['id']\n", "tags (!name) are not taken"),
    "two documents": (_GOOD.encode() + b"---\n" + _GOOD.encode(), "a file of its own"),
    "a list": (b"- merlin\n", "give a mapping"),
}
"""Kind to the bytes, and to words of the sentence that says what is wrong."""
