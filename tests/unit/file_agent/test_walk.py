import os
from collections.abc import Callable
from pathlib import Path

import pytest

from bridge.errors import InputError
from gateway.file_agent.walk import open_regular


def content(path: Path | str, root: Path) -> bytes:
    file = open_regular(str(path), (str(root),))
    try:
        return os.read(file, 1000)
    finally:
        os.close(file)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "home"
    (root / "ada" / "run").mkdir(parents=True)
    (root / "ada" / "run" / "out").write_bytes(b"output")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_bytes(b"secret")
    return root


@pytest.mark.parametrize("path", ["ada/run/out", "ada//run/./out", "ada/run/../run/out"])
def test_a_plain_path_is_opened(root: Path, path: str) -> None:
    assert content(f"{root}/{path}", root) == b"output"


@pytest.mark.parametrize("target", ["run", "../ada/run", "{root}/ada/run", "{root}/ada/../ada/./run/"])
def test_a_linked_folder_inside_the_root_is_walked(root: Path, target: str) -> None:
    (root / "ada" / "link").symlink_to(target.format(root=root))
    assert content(root / "ada/link/out", root) == b"output"


@pytest.mark.parametrize("target", ["../../outside", "{root}/../outside", "/", "../../../../../../../etc"])
def test_no_link_and_no_dots_lead_out_of_the_root(root: Path, target: str) -> None:
    (root / "ada" / "link").symlink_to(target.format(root=root))
    with pytest.raises(InputError):
        content(root / "ada/link/secret", root)
    with pytest.raises(InputError, match="leaves the shared folder"):
        content(f"{root}/ada/../../outside/secret", root)


@pytest.mark.parametrize("path", ["", "ada", "ada/", "ada/run/..", "ada/run/../.."])
def test_a_folder_is_no_file(root: Path, path: str) -> None:
    with pytest.raises(InputError):
        content(f"{root}/{path}", root)


def test_many_links_are_a_loop(root: Path) -> None:
    for number in range(60):
        (root / "ada" / f"l{number}").symlink_to(f"l{number + 1}")
    with pytest.raises(InputError, match="40 symbolic links"):
        content(root / "ada/l0/out", root)


def test_nothing_stays_open(root: Path) -> None:
    def open_files() -> int:
        return sum(1 for _ in Path("/proc/self/fd").iterdir())

    before = open_files()
    for path in ("ada/run/out", "ada/run/../..", "ada/nothing/x", "ada/run"):
        try:
            content(f"{root}/{path}", root)
        except (InputError, OSError):
            continue
    assert open_files() == before


def swap(monkeypatch: pytest.MonkeyPatch, file: Path, change: Callable[[], None]) -> None:
    """Change `file` after it was looked at and before it is opened for reading."""
    real = os.open

    def opened(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path == file.name and not flags & os.O_PATH:
            file.unlink()
            change()
        return real(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", opened)


def test_a_file_swapped_for_a_link_after_the_look_is_refused(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = root / "ada/run/out"
    swap(monkeypatch, file, lambda: file.symlink_to(root.parent / "outside/secret"))
    with pytest.raises(OSError, match="symbolic links"):
        content(file, root)


def test_a_file_swapped_for_a_fifo_after_the_look_is_refused(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = root / "ada/run/out"
    swap(monkeypatch, file, lambda: os.mkfifo(file))
    with pytest.raises(InputError, match="a FIFO"):
        content(file, root)
