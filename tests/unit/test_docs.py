"""The documents: links lead somewhere, and every shell command is one that the tests run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from tests.support.documents import FENCE, ON_A_CLUSTER, commands, documents
from tests.support.stack import CHECKOUT

LINK: Final = re.compile(r"\[[^\]]*\]\(([^)#]+)(?:#[^)]*)?\)")
PAGES: Final = [CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").rglob("*.md"))]


def name_of(page: Path) -> str:
    return str(page.relative_to(CHECKOUT))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_to_files_of_the_checkout(page: Path) -> None:
    links = [link for link in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page not in documents() and page.name not in ON_A_CLUSTER], ids=name_of
)
def test_pages_whose_commands_are_not_run_show_none(page: Path) -> None:
    kinds = [kind for kind, _ in FENCE.findall(page.read_text(encoding="utf-8"))]
    assert not {"sh", "bash", "shell", "console"} & set(kinds)


def test_the_readme_begins_with_the_two_commands() -> None:
    first = FENCE.findall((CHECKOUT / "README.md").read_text(encoding="utf-8"))[0]
    assert first == ("sh", "./sluice up\n./sluice test\n")


def test_blocks_are_joined_without_what_a_run_cannot_do_to_itself() -> None:
    text = "a\n```sh\n./sluice up\n./sluice test\n```\n```text\nno\n```\n```sh\n./sluice jobs\n```\n"
    assert commands(text) == "./sluice up\n./sluice jobs\n"
