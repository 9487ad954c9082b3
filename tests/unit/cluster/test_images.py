"""The content hash of images: equal inputs are equal, any other input isn't."""

from __future__ import annotations

import tarfile
from pathlib import Path

import docker.errors
import pytest
import requests

from bridge.cluster.images import LABEL_IMAGE, Recipe, context_of, remove_older
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


class _Image:
    def __init__(self, number: int) -> None:
        self.tags = [f"sluice-gateway:{number}"]
        self.attrs = {"Created": f"2026-01-0{number}T00:00:00Z"}


class _Engine:
    """The engine's list of images; removing `in_use` is a conflict."""

    def __init__(self, numbers: list[int], in_use: str) -> None:
        self.images = self
        self.held = [_Image(number) for number in numbers]
        self.in_use = in_use

    def list(self, name: str, filters: dict[str, str]) -> list[_Image]:
        assert (name, filters) == ("sluice-gateway", {"label": LABEL_IMAGE})
        return list(self.held)

    def remove(self, reference: str) -> None:
        if reference == self.in_use:
            response = requests.Response()
            response.status_code = 409
            raise docker.errors.APIError("in use", response=response)
        self.held = [image for image in self.held if reference not in image.tags]


def test_older_builds_go_but_not_the_newest_and_none_in_use() -> None:
    engine = _Engine([3, 1, 5, 2, 4], in_use="sluice-gateway:1")
    removed = remove_older(engine, "sluice-gateway", keep=2)  # type: ignore[arg-type] # what it needs of it
    assert set(removed) == {"sluice-gateway:3", "sluice-gateway:2"}
    assert {image.tags[0] for image in engine.held} == {f"sluice-gateway:{n}" for n in (5, 4, 1)}
