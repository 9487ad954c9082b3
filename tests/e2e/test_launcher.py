"""The launcher on a clean clone: once, twice, two at a time, after a kill, from another folder."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.support.stack import CHECKOUT, Ran, run
from tests.support.waiting import wait_for

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The tracked files, as in a fresh clone, without .venv and .sluice."""
    folder = tmp_path / "clone"
    tracked = run(["git", "-C", str(CHECKOUT), "ls-files", "-z"]).stdout.split("\0")
    for name in filter(None, tracked):
        if (CHECKOUT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(CHECKOUT / name, folder / name)
    return folder


def call(clone: Path, *arguments: str, cwd: Path | None = None) -> Ran:
    argv = ["env", "-C", str(cwd or clone), str(clone / "sluice"), *arguments]
    return run(argv, check=False, timeout_s=240)


def test_a_clean_clone_works_and_the_second_call_prepares_nothing_wherever_it_comes_from(
    clone: Path, tmp_path: Path
) -> None:
    first = call(clone, "--help")
    assert first.returncode == 0, first.text
    assert "making the Python environment" in first.stderr
    (tmp_path / "gateway").mkdir()  # must not shadow ours
    (tmp_path / "gateway" / "__init__.py").write_text("raise SystemExit('the wrong gateway')\n")
    (tmp_path / "s").symlink_to(clone / "sluice")
    second = run(["env", "-C", str(tmp_path), str(tmp_path / "s"), "--help"], check=False, timeout_s=240)
    assert second.returncode == 0, second.text
    assert second.stdout == first.stdout
    assert second.stderr == ""


def test_a_kill_in_the_middle_is_mended_by_the_next_call(clone: Path) -> None:
    packages = clone / ".venv" / "lib"
    started = subprocess.Popen(
        [str(clone / "sluice"), "--help"],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_for(lambda: any(packages.glob("python*/site-packages/*")), "packages come in", every_s=0.005)
    os.killpg(started.pid, signal.SIGKILL)
    started.wait()
    said = call(clone, "--help")
    assert said.returncode == 0, said.text
    assert not (clone / ".sluice" / "environment.unfinished").exists()


def test_two_launchers_at_once_make_one_environment(clone: Path) -> None:
    both = [
        subprocess.Popen(
            [str(clone / "sluice"), "--help"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    said = [process.communicate(timeout=240) for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sum("making the Python environment" in err for _, err in said) == 1


def test_without_a_python_one_sentence_says_what_to_do(clone: Path, tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    names = (
        "sh",
        "dirname",
        "readlink",
        "cat",
        "cksum",
        "mkdir",
        "chmod",
        "flock",
        "id",
        "tr",
        "sleep",
        "rm",
        "tail",
        "sed",
    )
    for name in names:
        found = shutil.which(name)
        assert found
        (tools / name).symlink_to(found)
    said = run(["env", "-i", f"PATH={tools}", str(clone / "sluice"), "--help"], check=False)
    assert said.returncode == 5
    assert said.stderr.count("\n") == 1
    assert "Python 3.11 or newer" in said.stderr
