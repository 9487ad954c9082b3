"""The content hash of images: equal inputs are equal, any other input isn't."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from bridge.cluster.images import Recipe, context_of
from bridge.errors import StepFailed

RECIPE = Recipe(name="web", inputs=("docker/web", "code", "lock"), without=("code/host",))


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    root = tmp_path / "checkout"
    for path, text in {
        "docker/web/Dockerfile": "FROM x",
        "code/a.py": "a",
        "code/host/cli.py": "h",
        "code/__pycache__/a.pyc": "c",
        "lock": "1",
        "unrelated": "u",
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    (tmp_path / "certificates").mkdir()
    return root


def digest(checkout: Path) -> str:
    return context_of(RECIPE, checkout, checkout.parent / "certificates").digest("base")


def test_only_the_inputs_are_in_the_context(checkout: Path) -> None:
    context = context_of(RECIPE, checkout, checkout.parent / "certificates")
    paths = [path for path, _, _ in context.files]
    assert paths == ["ca/README", "code/a.py", "docker/web/Dockerfile", "lock"]
    with tarfile.open(fileobj=context.archive()) as archive:
        assert archive.getnames() == paths


def test_what_is_not_an_input_does_not_count(checkout: Path) -> None:
    before = digest(checkout)
    (checkout / "unrelated").write_text("other")
    (checkout / "code/host/cli.py").write_text("other")
    (checkout / "code/__pycache__/a.pyc").write_text("other")
    assert digest(checkout) == before


@pytest.mark.parametrize("path", ["code/a.py", "docker/web/Dockerfile", "lock", "code/new.py"])
def test_another_content_is_another_image(checkout: Path, path: str) -> None:
    before = digest(checkout)
    (checkout / path).write_text("other")
    assert digest(checkout) != before


def test_a_script_that_becomes_executable_is_another_image(checkout: Path) -> None:
    before = digest(checkout)
    (checkout / "lock").chmod(0o755)
    assert digest(checkout) != before


def test_another_base_or_certificate_is_another_image(checkout: Path) -> None:
    context = context_of(RECIPE, checkout, checkout.parent / "certificates")
    assert context.digest("base") != context.digest("newer")
    before = digest(checkout)
    (checkout.parent / "certificates" / "site.crt").write_text("certificate")
    assert digest(checkout) != before


def test_a_missing_input_is_one_sentence(checkout: Path) -> None:
    (checkout / "lock").unlink()
    with pytest.raises(StepFailed, match="lock is missing"):
        digest(checkout)
