"""A stack's name, state and diagnosis."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridge.cluster.stack import GATEWAY_PORTS, Stack, choose_port
from bridge.cluster.status import PartStatus, diagnose
from bridge.errors import InputError, Unavailable


@pytest.mark.parametrize("name", ["", "Sluice", "1a", "a_b", "a/b", "a" * 33, "a-", "-a", "a b"])
def test_names_that_docker_would_refuse_are_refused_first(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="stack name"):
        Stack(name, tmp_path)


def test_state_is_read_back_and_is_for_the_user_only(tmp_path: Path) -> None:
    stack = Stack("sluice", tmp_path)
    stack.write("keys.json", {"ada": "sluice_x"})
    assert stack.read("keys.json") == {"ada": "sluice_x"}
    assert (stack.state / "keys.json").stat().st_mode & 0o777 == 0o600
    assert stack.state.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("text", ["", "{", "[]", "null"])
def test_broken_state_is_no_state(tmp_path: Path, text: str) -> None:
    stack = Stack("sluice", tmp_path)
    stack.write("stack.json", {})
    (stack.state / "stack.json").write_text(text)
    assert stack.read("stack.json") == {}


def test_forgetting_keeps_no_key(tmp_path: Path) -> None:
    stack = Stack("sluice", tmp_path)
    stack.write("keys.json", {"ada": "sluice_x"})
    stack.forget()
    stack.forget()
    assert stack.read("keys.json") == {}
    assert not stack.state.exists()


def test_looking_makes_nothing(tmp_path: Path) -> None:
    assert Stack("sluice", tmp_path).read("stack.json") == {}
    assert list(tmp_path.iterdir()) == []


def test_names_of_the_state_folder_itself_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="taken by Sluice itself"):
        Stack("bootstrap", tmp_path)


def part(name: str, *, healthy: bool = True, state: str = "running") -> PartStatus:
    return PartStatus(name=name, state=state, healthy=healthy)


def test_a_healthy_stack_has_no_problem() -> None:
    assert diagnose([part("mariadb"), part("gateway")]) == ""


def test_the_part_at_the_root_is_named_first() -> None:
    words = diagnose(
        [
            part("gpu1", healthy=False),
            part("slurmctld", healthy=False),
            part("slurmdbd", healthy=False, state="exited"),
        ]
    )
    assert words.startswith("Slurm is down: slurmdbd is exited (with it: gpu1, slurmctld)")


def test_a_part_that_hangs_is_told_from_one_that_stopped() -> None:
    assert diagnose([part("gateway", healthy=False)]).startswith("gateway runs but does not answer;")


def port(*taken: int, wished: int | None = None, kept: int | None = None, kept_is_ours: bool = False) -> int:
    return choose_port(
        wished=wished, kept=kept, kept_is_ours=kept_is_ours, is_free=lambda number: number not in taken
    )


def test_the_first_free_port_is_taken_and_then_kept() -> None:
    assert port() == GATEWAY_PORTS[0]
    assert port(8080, 8081) == 8082
    assert port(kept=8082) == 8082
    assert port(8082, kept=8082, kept_is_ours=True) == 8082


def test_a_kept_port_that_somebody_took_is_given_up() -> None:
    assert port(8082, kept=8082) == 8080


def test_a_wished_port_is_that_one_or_none() -> None:
    assert port(wished=9000, kept=8080, kept_is_ours=True) == 9000
    assert port(9000, wished=9000, kept=9000, kept_is_ours=True) == 9000
    with pytest.raises(Unavailable, match=r"9000 .* taken"):
        port(9000, wished=9000)


def test_no_free_port_is_one_sentence() -> None:
    with pytest.raises(Unavailable, match="--port"):
        port(*GATEWAY_PORTS)
