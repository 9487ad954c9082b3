"""What `up --kubernetes` tells the chart, and how tenant documents become custom resources."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from bridge.cluster.pool import LOCAL_POOL, Confinement
from bridge.cluster.release import Release, ReleaseImages, tenant_objects, trial_values
from tests.support.stack import CHECKOUT

IMAGES = ReleaseImages(slurm="s:1", login="l:1", agent="a:1", gateway="g:1", mariadb="m:1")


def release(chart: Path) -> Release:
    return Release(kubeconfig=Path("k"), kubectl=Path("kubectl"), helm=Path("helm"), chart=chart)


def test_values_name_only_what_the_chart_has() -> None:
    known = yaml.safe_load((CHECKOUT / "helm/sluice/values.yaml").read_text(encoding="utf-8"))

    def lacking(given: object, default: object, path: str) -> list[str]:
        if not isinstance(given, dict) or not isinstance(default, dict) or not default:
            return []
        missing = [f"{path}.{key}" for key in given if key not in default]
        return missing + [
            one
            for key in given
            if key in default
            for one in lacking(given[key], default[key], f"{path}.{key}")
        ]

    assert lacking(trial_values(IMAGES, LOCAL_POOL, Confinement.NONE), known, "") == []


@pytest.mark.parametrize(
    ("confinement", "word"), [(Confinement.NONE, "none"), (Confinement.CGROUP_V2, "cgroup-v2")]
)
def test_jobs_are_confined_where_the_host_lets_them_be(confinement: Confinement, word: str) -> None:
    slurm = trial_values(IMAGES, LOCAL_POOL, confinement)["slurm"]
    assert isinstance(slurm, dict)
    assert slurm["confinement"] == word


def test_a_changed_chart_or_value_is_installed_again(tmp_path: Path) -> None:
    (tmp_path / "Chart.yaml").write_text("version: 1\n")
    first = release(tmp_path).fingerprint({"a": 1})
    assert release(tmp_path).fingerprint({"a": 1}) == first
    assert release(tmp_path).fingerprint({"a": 2}) != first
    (tmp_path / "Chart.yaml").write_text("version: 2\n")
    assert release(tmp_path).fingerprint({"a": 1}) != first


def test_a_document_becomes_a_custom_resource() -> None:
    objects = tenant_objects(["name: astro\nweight: 3\n---\nname: robotics\nmembers: []\n", ""])
    assert objects == [
        {
            "apiVersion": "sluice.sh/v1alpha1",
            "kind": "Tenant",
            "metadata": {"name": "astro"},
            "spec": {"weight": 3},
        },
        {
            "apiVersion": "sluice.sh/v1alpha1",
            "kind": "Tenant",
            "metadata": {"name": "robotics"},
            "spec": {"members": []},
        },
    ]
