"""Where the script's name stands in sbatch's command line."""

from __future__ import annotations

import pytest

from bridge.errors import ScriptError
from bridge.sbatch.command_line import read_command_line
from bridge.sbatch.getopt import Argument
from bridge.sbatch.site import SiteOption


@pytest.mark.parametrize(
    ("line", "options", "script", "argv"),
    [
        ("", "", None, ""),
        ("job.sh", "", "job.sh", ""),
        ("-n 4 --time 5 job.sh -n 2 x", "-n 4 --time 5", "job.sh", "-n 2 x"),
        ("-n4 -- job.sh", "-n4", "job.sh", ""),
        ("-n1 : -n2 job.sh : x", "-n1 : -n2", "job.sh", ": x"),
        ("--job-na jo", "--job-na jo", None, ""),
        ("- a", "", "-", "a"),
    ],
)
def test_a_line_is_taken_apart(line: str, options: str, script: str | None, argv: str) -> None:
    read = read_command_line(line.split())
    assert (read.options, read.script, read.argv) == (tuple(options.split()), script, tuple(argv.split()))


def test_what_was_said_is_known_by_long_names() -> None:
    read = read_command_line(["-Hn2", "--wrap=hostname", "-J", "x"])
    assert read.values == (("hold", None), ("ntasks", "2"), ("wrap", "hostname"), ("job-name", "x"))
    assert read.wraps
    assert read.script_name is None


def test_faults_have_sbatch_s_words() -> None:
    with pytest.raises(ScriptError) as refused:
        read_command_line(["--nope", "job.sh"])
    assert refused.value.details["exit_code"] == 255
    assert "unrecognized option '--nope'" in str(refused.value.details["slurm_words"])


def test_options_of_the_site_have_values_too() -> None:
    site = (SiteOption("pyxis", "container-image", Argument.REQUIRED),)
    assert read_command_line(["--container-image", "x", "job.sh"], site).script == "job.sh"
