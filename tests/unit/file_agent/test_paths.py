import pytest

from bridge.errors import InputError
from gateway.file_agent.paths import check_range, locate

ROOTS = ("/home", "/home/projects", "/scratch")


def test_a_path_under_a_root_is_found_with_its_components() -> None:
    place = locate("/home/ada//run/./slurm-7.out", ROOTS)
    assert (place.root, place.parts) == ("/home", ("ada", "run", "slurm-7.out"))


def test_the_longest_root_wins() -> None:
    assert locate("/home/projects/x", ROOTS).root == "/home/projects"


@pytest.mark.parametrize("path", ["/tmp/slurm-7.out", "/homework/x", "/", "/var/../tmp/x"])
def test_a_path_outside_every_root_is_local_to_a_node_and_says_the_remedy(path: str) -> None:
    with pytest.raises(InputError, match=r"local to a node.*--output"):
        locate(path, ROOTS)


@pytest.mark.parametrize(
    ("path", "words"), [("run/x", "not absolute"), ("/home/a\0b", "NUL"), ("/home/" + "a" * 5000, "4096")]
)
def test_names_that_no_file_has_are_refused(path: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        locate(path, ROOTS)


@pytest.mark.parametrize(
    ("offset", "length"), [(0, -1), (0, 4097), (2**63, 1), (-(2**63), 1), (2**80, 0), (-(2**80), 0)]
)
def test_ranges_that_no_file_has_are_refused(offset: int, length: int) -> None:
    with pytest.raises(InputError):
        check_range(offset, length, most=4096)


@pytest.mark.parametrize(("offset", "length"), [(0, 0), (0, 4096), (2**62, 1), (-(2**62), 4096)])
def test_ranges_that_a_file_could_have_pass(offset: int, length: int) -> None:
    check_range(offset, length, most=4096)
