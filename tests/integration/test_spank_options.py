"""Options of a SPANK plugin: one is built, real sbatch loads it, our parser has it by configuration."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest

from bridge.sbatch import SiteOption, parse
from gateway.site import read_site
from tests.integration.sbatch_oracle.controller import Controller, controller
from tests.support.stack import STACK_NAME, Stack, run
from tests.unit.sbatch.description import CALLER, context_of
from tests.unit.sbatch.generator import Case

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

SOURCE: Final = Path(__file__).parent / "spank" / "demo.c"
SITE: Final = """
spank_options:
  - {plugin: demo, option: demo-image, argument: required}
  - {plugin: demo, option: demo-quick, argument: none}
  - {plugin: demo, option: demo-level, argument: optional}
"""
OF_THE_HOST: Final = re.compile("SLURM_CONF$|SLURM_RLIMIT_")
"""What sbatch says of its own host: the node sets the first anew, and this test has no limits to send."""
LINES: Final = {
    "all": "#SBATCH --demo-image=a/b:1 --demo-quick --demo-level=3",
    "no value": "#SBATCH --demo-level --demo-image 'two words'",
    "cut short": "#SBATCH --demo-im=x --demo-q",
    "no environment": "#SBATCH --export=NONE --demo-image=x",
    "not said": "#SBATCH -n2",
}


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plugin, built where the agent's image was built: there are compiler and spank.h."""
    listed = run(["docker", "images", "-q", "--filter", "label=sh.sluice.image=agent-build"]).stdout.split()
    if not listed:
        pytest.skip("the image that built the agent's binding is gone, and with it compiler and spank.h")
    build = "cat > /tmp/demo.c && gcc -shared -fPIC -o /tmp/demo.so /tmp/demo.c && cat /tmp/demo.so"
    done = subprocess.run(
        ["docker", "run", "--rm", "-i", "--user=0", "--entrypoint=sh", listed[0], "-c", build],
        input=SOURCE.read_bytes(),
        capture_output=True,
        check=True,
    )
    path = tmp_path_factory.mktemp("spank") / "demo.so"
    path.write_bytes(done.stdout)
    path.chmod(0o755)
    return path


@pytest.fixture(scope="module")
def cluster(stack: Stack, plugin: Path) -> Iterator[Controller]:
    def prepare(container: str) -> None:
        (plugin.parent / "plugstack.conf").write_text("required /etc/slurm/demo.so\n")
        for file in (plugin, plugin.parent / "plugstack.conf"):
            run(["docker", "cp", str(file), f"{container}:/etc/slurm/"])

    image = run(["docker", "inspect", "--format={{.Image}}", stack.container("agent")]).stdout.strip()
    with controller(image, STACK_NAME, "ctl", prepare=prepare) as made:
        yield made


def options(folder: Path) -> tuple[SiteOption, ...]:
    file = folder / "site.yaml"
    file.write_text(SITE)
    return read_site(file).options()


def test_they_reach_a_job_as_real_sbatch_carries_them(cluster: Controller, tmp_path: Path) -> None:
    cases = [Case(name, f"#!/bin/sh\n{lines}\n".encode()) for name, lines in LINES.items()]
    answers = cluster.sbatch(cases, "-H")
    assert [answer["exit_code"] for answer in answers] == [0] * len(cases), answers
    site = options(tmp_path)
    different: dict[str, object] = {}
    for case, answer in zip(cases, answers, strict=True):
        context = context_of(case.name, now=datetime.now(UTC), environment=CALLER, site_options=site)
        spec = parse(case.script, arguments=["-H"], variables=CALLER, context=context).spec
        mine = cluster.environment(cluster.slurm.submit(spec, user="ada").job_id)
        theirs = cluster.environment(int(answer["out"].split()[-1]))
        found = {
            name: (mine.get(name), theirs.get(name))
            for name in {*mine, *theirs}
            if mine.get(name) != theirs.get(name) and not OF_THE_HOST.match(name)
        }
        different |= {case.name: found} if found else {}
    assert different == {}, "variable: (ours, sbatch's)"
