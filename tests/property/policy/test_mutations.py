"""A rule changed in one copy only is found: every mutant of either copy decides some request otherwise.

Mutants are made by themselves: each comparison, junction, number, truth value, constant text and function
of the rules' source is changed once.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from bridge.policy import bounds, gpus, notes, place, shape
from bridge.policy import decide as decide_module
from bridge.policy.decide import decide, decide_change
from bridge.policy.request import Request, Verdict
from bridge.policy.table import PolicyTable
from tests.property.policy.test_two_copies import as_change, as_recorded, assert_alike, changed_alike
from tests.unit.policy import worlds
from tests.unit.policy.lua_rules import SOURCE, LuaRules

pytestmark = pytest.mark.timeout(600)  # hundreds of mutants; a busy machine takes minutes

MODULES = (shape, gpus, place, bounds, notes, decide_module)
"""The rules, each after those that it imports."""

Corpus = list[tuple[PolicyTable, list[tuple[Request, Verdict]]]]

OPERATORS: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (r"(?<=\s)>(?=\s)", ">="),
    (r"(?<=\s)<=(?=\s)", "<"),
    (r"(?<=\s)==(?=\s)", "~="),
    (r"(?<=\s)~=(?=\s)", "=="),
    (r"(?<=\s)!=(?=\s)", "=="),
    (r"(?<=\s)and(?=\s)", "or"),
    (r"(?<=\s)or(?=\s)", "and"),
    (r"\bnot (?!in\b)", ""),
    (r"\bnot in\b", "in"),
    (r"\btrue\b", "false"),
    (r"math\.max", "math.min"),
    (r"(?<![\w.])max\(", "min("),
    (r"math\.ceil", "math.floor"),
    (r"(?<![\w\"{.,%:-])(\d+)(?![\w\"},-])", lambda match: str(int(match[1]) + 1)),
    (r"(?<=\s)\*(?=\s)", "+"),
    (r"\b(ntasks_per_node|ntasks_per_socket|sockets_per_node)\b", "nodes_max"),
    (r"\b(tres_per_socket|tres_per_task)\b", "tres_per_job"),
    (r"(?<=\")(?=[^\"\n]*[a-z] [^\"\n]*\")", "~"),
)

ALIKE_BY_NATURE = (
    # Memory is judged against whole MiB times at least one unit: 0 and 1 are the same nothing.
    "(per_node or 0)",
    "(request.memory_per_cpu",
    "request.memory_counted",
    "rules.node_memory[",
    "table.node_memory_mib.get(",
    "int(found[1]) if found else 0",
)
"""Lines of which no mutant can be told from the rule."""

TRIED_ELSEWHERE = ("say_refusal(", "table.missing", "user_id or -1", "desc.user_id == job.user_id")
"""Lines that test_job_submit.py and test_said.py are about."""


def mutants(source: str, section: str) -> Iterator[tuple[str, str]]:
    """Yield (what was changed, the whole mutated source) for each place in `section` of `source`."""
    start = source.index(section)
    for pattern, replacement in OPERATORS:
        for match in re.finditer(pattern, section):
            line_start = section.rfind("\n", 0, match.start()) + 1
            line_end = section.find("\n", match.end())
            line = section[line_start:line_end].strip()
            if line.startswith(("--", "#", '"""', "import", "from")) or any(
                text in line for text in (*TRIED_ELSEWHERE, *ALIKE_BY_NATURE)
            ):
                continue
            changed = match.expand(replacement) if isinstance(replacement, str) else replacement(match)
            place = f"{line}   [{match[0]!r} -> {changed!r} at {match.start() - line_start}]"
            yield place, source[: start + match.start()] + changed + source[start + match.end() :]


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    found: Corpus = []
    for table, requests in worlds.cases(seed=11, worlds=40, requests=250):
        found.append((table, [(request, decide(table, request, worlds.NOW)) for request in requests]))
    return found


def lua_finds(rules: LuaRules, corpus: Corpus) -> bool:
    try:
        for table, judged in corpus:
            rules.load(table)
            for request, decision in judged:
                assert_alike(decision, rules.submit(request), request)
            for (job, _), (change, _) in zip(judged[::2], judged[1::2], strict=True):
                changed_alike(rules, table, as_recorded(job), as_change(change))
    except Exception:  # noqa: BLE001 - a mutant may fail in any way
        return True
    return False


def test_every_mutant_of_the_lua_copy_is_found(tmp_path: Path, corpus: Corpus) -> None:
    source = SOURCE
    section = source[source.index("-- Words ---") : source.index("local function administrator")]
    rules, tried, survivors = LuaRules(tmp_path), 0, []
    for what, rules.source in mutants(source, section):
        tried += 1
        if not lua_finds(rules, corpus):
            survivors.append(what)
    assert survivors == []
    assert tried > 150


def test_every_mutant_of_the_python_copy_is_found(tmp_path: Path, corpus: Corpus) -> None:
    # The unmutated Python decided the corpus and the Lua agrees (test_two_copies): a mutant that decides
    # the corpus otherwise is one that the comparison with the Lua finds.
    tried, survivors = 0, []
    for module in MODULES:
        source = Path(str(module.__file__)).read_text()
        section = source[source.index("\ndef _no_longer" if module is decide_module else "\ndef ") :]
        for what, mutant in mutants(source, section):
            tried += 1
            if not python_finds(module, mutant, corpus):
                survivors.append(f"{module.__name__}: {what}")
    assert survivors == []
    assert tried > 100


def python_finds(module: ModuleType, mutant: str, corpus: Corpus) -> bool:
    try:
        rules = _loaded(module, mutant)
        for table, judged in corpus:
            if any(rules.decide(table, asked, worlds.NOW) != decision for asked, decision in judged):
                return True
            for (job, _), (change, _) in zip(judged[::2], judged[1::2], strict=True):
                asked = as_recorded(job), as_change(change), worlds.NOW
                if rules.decide_change(table, *asked) != decide_change(table, *asked):
                    return True
        return False
    except Exception:  # noqa: BLE001 - a mutant may fail in any way
        return True


def _loaded(module: ModuleType, mutant: str) -> Any:
    """Return the module of `decide` with one of its modules replaced, without touching the real ones."""
    for original in MODULES:
        source = mutant if original is module else Path(str(original.__file__)).read_text()
        fresh = ModuleType(_mutant_name(original))
        sys.modules[fresh.__name__] = fresh
        for other in MODULES:
            source = source.replace(f"from {other.__name__} import", f"from {_mutant_name(other)} import")
        exec(source, fresh.__dict__)
    return sys.modules[_mutant_name(decide_module)]


def _mutant_name(module: ModuleType) -> str:
    return f"mutant_{module.__name__.rpartition('.')[2]}"
