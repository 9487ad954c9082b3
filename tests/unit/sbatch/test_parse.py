"""What `parse` promises beyond sbatch's verdict: places, origins, precedence, defaults, refusals by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from bridge.errors import ScriptError
from bridge.sbatch import FileWanted, ParsedScript, parse
from tests.unit.sbatch.description import LOGIN, context_of

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def read(
    *lines: str,
    arguments: Sequence[str] = (),
    variables: Mapping[str, str] | None = None,
    name: str | None = "train.sh",
    now: datetime = NOW,
    **context: Any,
) -> ParsedScript:
    script = "\n".join(("#!/bin/bash", *lines, "hostname", "")).encode()
    return parse(
        script, arguments=arguments, variables=variables or {}, context=context_of(name, now=now, **context)
    )


def refused(*lines: str, **said: Any) -> ScriptError:
    with pytest.raises(ScriptError) as caught:
        read(*lines, **said)
    return caught.value


def test_a_script_stays_byte_identical() -> None:
    script = b"#!/bin/sh\n#SBATCH -n2\necho \xff\xfe\n"
    assert parse(script, context=context_of("a", now=NOW)).spec.script == script


def test_arguments_go_over_variables_and_variables_over_directives() -> None:
    line, variable = "#SBATCH --time=10", {"SBATCH_TIMELIMIT": "20"}
    assert read(line).spec.time_limit_min == 10
    assert read(line, variables=variable).spec.time_limit_min == 20
    assert read(line, variables=variable, arguments=["-t", "30"]).spec.time_limit_min == 30


def test_each_value_has_the_place_that_it_came_from() -> None:
    parsed = read("", "#SBATCH -n2  --mem=1G", variables={"SBATCH_QOS": "q"}, arguments=["-t5"])
    origins = parsed.origins
    assert (origins["mem"].source, origins["mem"].text, origins["mem"].line, origins["mem"].column) == (
        *("script", "--mem=1G", 3, 14),
    )
    assert (origins["qos"].source, origins["qos"].text) == ("environment", "SBATCH_QOS")
    assert (origins["time"].source, origins["time"].text) == ("argument", "-t5")


def test_an_error_names_line_column_option_and_sbatch_s_words() -> None:
    error = refused("#SBATCH -n2", "#SBATCH --mem=1G  --time=1d")
    assert error.message == "line 3, column 19: --time=1d: Invalid --time specification"
    assert error.details["errors"] == [
        {"line": 3, "column": 19, "option": "time", "message": "Invalid --time specification"}
    ]
    assert error.details["slurm_words"] == "sbatch: error: Invalid --time specification"
    assert error.details["exit_code"] == 255


def test_a_bad_variable_is_named() -> None:
    assert refused(variables={"SBATCH_TIMELIMIT": "soon"}).message.startswith(
        "SBATCH_TIMELIMIT: Invalid --time"
    )


def test_a_combination_is_placed_where_one_of_its_options_stands() -> None:
    error = refused("#SBATCH --exclusive", "#SBATCH -s")
    assert error.details["exit_code"] == 1
    assert error.details["errors"][0]["line"] == 2  # type: ignore[index] # a list of dicts


@pytest.mark.parametrize(
    ("line", "option"),
    [
        ("#SBATCH --propagate=STACK,NOFILE --autocomplete=x", "autocomplete"),
    ],
)
def test_what_can_t_be_carried_is_refused_by_name(line: str, option: str) -> None:
    error = refused(line)
    assert f"--{option}: " in error.message
    assert error.details["errors"][0]["line"] == 2  # type: ignore[index] # a list of dicts
    assert error.details["slurm_words"] is None


def test_root_s_options_are_refused_in_sbatch_s_words() -> None:
    assert "only permitted by root user" in refused("#SBATCH --uid=0").message


def test_the_name_is_the_file_s_or_sbatch() -> None:
    assert read(name="/tmp/x/train.sh").spec.name == "train.sh"
    assert read(name=None).spec.name == "sbatch"
    assert read("#SBATCH -J mine").spec.name == "mine"


def test_paths_begin_in_the_working_directory() -> None:
    spec = read("#SBATCH -o out/%j -e /abs --chdir=sub").spec
    assert (spec.work_dir, spec.stdout, spec.stderr) == ("/home/ada/sub", "/home/ada/sub/out/%j", "/abs")
    assert spec.stdin == "/dev/null"


def test_without_export_the_job_gets_login_and_request_and_no_more() -> None:
    environment = read(environment={"MINE": "1", "SLURM_JWT": "secret"}).spec.environment
    assert environment["MINE"] == "1"
    assert {name: environment[name] for name in LOGIN} == LOGIN
    assert "SLURM_JWT" not in environment
    assert environment["SLURM_SUBMIT_DIR"] == "/home/ada"


def test_export_none_keeps_only_slurm_s_own() -> None:
    environment = read("#SBATCH --export=NONE", environment={"MINE": "1", "SLURM_X": "y"}).spec.environment
    assert "MINE" not in environment
    assert "HOME" not in environment
    assert (environment["SLURM_X"], environment["SLURM_GET_USER_ENV"]) == ("y", "1")


def test_export_of_names_and_values() -> None:
    spec = read("#SBATCH --export=MINE,N=2,NOT_THERE", environment={"MINE": "1", "OTHER": "2"}).spec
    assert (spec.environment["MINE"], spec.environment["N"]) == ("1", "2")
    assert not {"OTHER", "NOT_THERE", "HOME"} & set(spec.environment)


def test_variables_of_an_outer_job_are_no_options() -> None:
    assert read(variables={"SLURM_NTASKS": "5", "SLURM_TIMELIMIT": "3"}).spec.ntasks is None


def test_client_options_don_t_reach_the_job() -> None:
    parsed = read("#SBATCH --wait --parsable", arguments=["--test-only", "-Q"])
    client = parsed.client
    assert (client.wait, client.parsable, client.test_only, client.quiet) == (True, True, True, True)


def test_a_wrapped_command_is_a_script() -> None:
    parsed = parse(b"", arguments=["--wrap=hostname", "-n2"], context=context_of(None, now=NOW))
    assert parsed.spec.script == b"#!/bin/sh\n# This script was created by sbatch --wrap.\n\nhostname\n"
    assert (parsed.spec.name, parsed.spec.ntasks) == ("wrap", 2)
    with pytest.raises(ScriptError, match="not permitted with --wrap"):
        read(arguments=["--wrap=x"])


def test_begin_is_read_in_the_cluster_s_zone() -> None:
    now = NOW.astimezone(timezone(timedelta(hours=5, minutes=30)))
    assert read("#SBATCH --begin=2027-01-20T12:00", now=now).spec.begin == datetime(
        2027, 1, 20, 6, 30, tzinfo=UTC
    )


def test_only_this_cluster_is_served() -> None:
    assert read("#SBATCH -M here", cluster="here").spec.clusters is None
    assert read("#SBATCH -M a,b", cluster="here").spec.clusters == "a,b"


def test_an_external_job_has_no_script() -> None:
    spec = parse(b"", arguments=["--external", "-n2"], context=context_of(None, now=NOW)).spec
    assert (spec.external, spec.script, spec.name, spec.ntasks) == (True, b"", "external", 2)
    for words, script in ((["--external"], b"#!/bin/sh\n"), (["--external", "--wrap=x"], b"")):
        with pytest.raises(ScriptError, match="not permitted with --external option"):
            parse(script, arguments=words, context=context_of(None, now=NOW))


FILES = {
    "nodes": b"# all\ngpu2 gpu1\n\ngpu1,gpu3 # again\n",
    "./nodes": b"gpu[1-2]\n",
    "none": b"# none\n",
    "gone": None,
    "bb": b"#BB_LUA pool=a\n#BB two",
    "variables": b"A=1\0B=two words\0C\0=x\0D=",
}


@pytest.mark.parametrize(
    ("line", "nodes"),
    [
        ("-F nodes -n3", "gpu[1-3]"),
        ("-w gpu9 --nodefile=nodes -n3", "gpu[1-3]"),
        ("-F nodes -w gpu9", "gpu9"),
        ("-w ./nodes -n2", "gpu[1-2]"),
    ],
)
def test_nodes_are_read_from_a_file(line: str, nodes: str) -> None:
    assert read(f"#SBATCH {line}", files=FILES).spec.nodelist == nodes


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("-F none", 255, "Hostlist is empty!\nsbatch: error: Invalid --nodefile node file"),
        (
            "-F gone",
            255,
            "error opening file gone, No such file or directory\nsbatch: error: Invalid --nodefile",
        ),
        ("--bbf=gone", 1, "Invalid --bbf specification"),
        ("--bbf=bb --bb=x", 1, "Cannot specify both --burst-buffer and --bbf"),
        ("--export-file=gone", 1, "Could not open user environment file gone"),
    ],
)
def test_files_that_are_none_are_refused_as_by_sbatch(line: str, code: int, words: str) -> None:
    error = refused(f"#SBATCH {line}", files=FILES)
    assert error.details["exit_code"] == code
    assert words in str(error.details["slurm_words"])


def test_lines_of_a_burst_buffer_come_behind_the_script_s_first() -> None:
    script = read("#SBATCH --bbf=bb", files=FILES).spec.script
    assert script.startswith(b"#!/bin/bash\n#BB_LUA pool=a\n#BB two\n#SBATCH --bbf=bb\n")


@pytest.mark.parametrize(
    ("line", "variables"),
    [
        ("", {}),
        ("--export=ALL", {"A": "1", "B": "two words", "D": ""}),
        ("--export=Q=1,MINE", {"A": "1", "B": "two words", "D": "", "Q": "1"}),
        ("--export=NONE", {}),
    ],
)
def test_an_export_file_stands_for_the_environment(line: str, variables: dict[str, str]) -> None:
    spec = read(f"#SBATCH --export-file=variables {line}", files=FILES, environment={"MINE": "x"}).spec
    of_slurm = ("SLURM", "OMPI", "PRTE", "HYDRA", "I_MPI")
    assert {name: v for name, v in spec.environment.items() if not name.startswith(of_slurm)} == variables


def test_a_file_that_nobody_looked_for_is_asked_for() -> None:
    with pytest.raises(FileWanted) as wanted:
        read("#SBATCH -F hosts")
    assert wanted.value.path == "hosts"


LIMITS = {"NOFILE": 1024, "CORE": 0, "STACK": -1}


@pytest.mark.parametrize(
    ("line", "sent"),
    [
        ("", {"NOFILE": "1024", "CORE": "0", "STACK": "18446744073709551615"}),
        ("--propagate", {"NOFILE": "U1024", "CORE": "U0", "STACK": "U18446744073709551615"}),
        ("--propagate=RLIMIT_NOFILE,CORE", {"NOFILE": "U1024", "CORE": "U0"}),
        ("--propagate=NONE", {}),
        ("--propagate=NOFILE --get-user-env", {}),
    ],
)
def test_limits_of_the_caller_go_along_as_sbatch_sends_them(line: str, sent: dict[str, str]) -> None:
    variables = read(f"#SBATCH {line}", limits=LIMITS).spec.environment
    found = {
        name.removeprefix("SLURM_RLIMIT_"): value for name, value in variables.items() if "RLIMIT" in name
    }
    assert found == sent


def test_limits_that_are_not_known_are_not_sent_and_can_t_be_named() -> None:
    assert not [name for name in read("", limits=None).spec.environment if "RLIMIT" in name]
    assert refused("#SBATCH --propagate=STACK", limits=None).details["slurm_words"] is None


def test_warnings_are_sentences() -> None:
    assert read("#SBATCH -N4 -n2").warnings == ("can't run 2 processes on 4 nodes, setting nnodes to 2",)


def test_a_value_that_is_no_text_is_refused_by_name() -> None:
    with pytest.raises(ScriptError, match="not UTF-8"):
        parse(b"#!/bin/sh\n#SBATCH --comment=\xff\n", context=context_of("a", now=NOW))


def test_a_script_may_be_4_mib_and_no_byte_more() -> None:
    largest = b"#!/bin/sh\n".ljust(4 * 1024 * 1024, b"#")
    context = context_of("a", now=NOW)
    assert parse(largest, context=context).spec.script is largest
    with pytest.raises(ScriptError, match="too long"):
        parse(largest + b"#", context=context)


HET = "#SBATCH -J two -t9 -n1 --gpus=h100:1\n#SBATCH hetjob -n7\n#SBATCH -n2 -p cpu"


def test_components_keep_what_is_not_of_one_component_alone() -> None:
    leader, other = read(HET).specs
    assert (leader.name, leader.time_limit_min, leader.ntasks, leader.tres_per_job) == (
        "two",
        9,
        1,
        "gres/gpu:h100:1",
    )
    assert (other.name, other.time_limit_min, other.ntasks, other.tres_per_job) == ("two", 9, 2, None)
    assert (leader.partition, other.partition) == (None, "cpu")


def test_the_first_component_has_the_script_and_knows_how_each_is_laid_out() -> None:
    leader, other = read(HET).specs
    assert leader.script.startswith(b"#!")
    assert other.script == b""
    assert leader.environment["SLURM_NTASKS_HET_GROUP_1"] == "2"
    assert not any("HET_GROUP" in name for name in other.environment)


def test_arguments_begin_components_and_the_last_part_holds_for_the_rest() -> None:
    parsed = read("#SBATCH -n1\n#SBATCH hetjob\n#SBATCH -n2", arguments=["-c2", ":", "-c3"])
    assert [(spec.ntasks, spec.cpus_per_task) for spec in parsed.specs] == [(1, 2), (2, 3)]
    parsed = read("#SBATCH -n1\n#SBATCH hetjob\n#SBATCH -n2", arguments=["-c2"])
    assert [(spec.ntasks, spec.cpus_per_task) for spec in parsed.specs] == [(1, 2), (2, 2)]


def test_a_fault_in_a_later_component_has_its_line() -> None:
    with pytest.raises(ScriptError) as refused:
        read("#SBATCH -n1\n#SBATCH hetjob\n#SBATCH -n0")
    assert "line 4, column 9" in refused.value.message


def test_a_job_of_too_many_components_is_refused_at_once() -> None:
    assert len(read("#SBATCH hetjob\n" * 127).specs) == 128
    assert "hetjob" in refused("#SBATCH hetjob\n" * 200_000).message


def test_rare_options_reach_the_job() -> None:
    spec = read(
        "#SBATCH --segment=2 --spread-segments --oom-kill-step=0 --mem-update=10@1:00 --extra='a b'\n"
        "#SBATCH --requeue=expedite --kill-on-invalid-dep=no --stepmgr --resv-ports --context=c"
    ).spec
    assert (spec.segment_size, spec.spread_segments, spec.oom_kill_step, spec.extra) == (
        2,
        True,
        False,
        "a b",
    )
    assert (spec.memory_update_margin_percent, spec.memory_update_delay_min) == (10, 1)
    assert (spec.requeue, spec.expedited_requeue, spec.kill_on_invalid_dependency) == (True, True, False)
    assert (spec.step_manager, spec.reserve_ports, spec.selinux_context) == (True, 0, "c")


@pytest.mark.parametrize(
    ("lines", "arguments", "option", "where"),
    [
        (["#SBATCH --mem=1G", "#SBATCH --foo=1"], [], "foo", "line 3, column 9: "),
        (["#SBATCH --mem=1G -?"], [], "?", "line 2, column 18: "),
        (["#SBATCH --mem=64M --time"], [], "time", "line 2, column 19: "),
        ([], ["--nodelist=gpu[1", "--mem=64M"], "nodelist", "--nodelist=gpu[1: "),
        ([], ["--gpus=h100:x", "--mem=64M"], "gpus", "--gpus=h100:x: "),
        (["#SBATCH --nodelist=gpu[1"], ["--mem=64M"], "nodelist", "line 2, column 9: --nodelist=gpu[1: "),
        (["#SBATCH --gres=gpu:y:z", "#SBATCH -N1"], ["-t5"], "gres", "line 2, column 9: --gres=gpu:y:z: "),
    ],
)
def test_the_option_at_fault_is_named_and_not_the_last_one(
    lines: list[str], arguments: list[str], option: str, where: str
) -> None:
    with pytest.raises(ScriptError) as refused:
        read(*lines, arguments=arguments)
    assert refused.value.message.startswith(where)
    errors: Any = refused.value.details["errors"]
    assert errors[0]["option"] == option
