"""The site file: what it sets, and one sentence for what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridge.errors import InputError
from bridge.sbatch import SiteOption
from bridge.sbatch.getopt import Argument
from gateway.site import read_site


def test_it_names_the_options_of_plugins(tmp_path: Path) -> None:
    file = tmp_path / "site.yaml"
    file.write_text("spank_options:\n- {plugin: pyxis, option: container-image, about: image}\n")
    assert read_site(file).options() == (SiteOption("pyxis", "container-image", Argument.REQUIRED, "image"),)
    assert read_site(None).options() == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("spank_options: [{plugin: x, option: time}]", "--time is sbatch's own"),
        ("spank_options: [{plugin: x}]", "option: Field required"),
        ("plugins: []", "plugins: Extra inputs"),
        ("[", "can't be read"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "site.yaml"
    file.write_text(text)
    with pytest.raises(InputError, match=r"site\.yaml") as refused:
        read_site(file)
    assert words in refused.value.message
