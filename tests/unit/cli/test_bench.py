"""``sluice bench``: what it finds, and what it makes of a benchmark's answer."""

from __future__ import annotations

from gateway.cli.bench import figures, first_line, known_benchmarks


def test_each_benchmark_says_in_its_first_line_what_it_measures() -> None:
    known = known_benchmarks()
    assert {"policy_lua", "sbatch_rate", "tenants_scale"} <= known.keys()
    assert all(len(first_line(path)) > len("What") for path in known.values())


def test_figures_are_those_of_the_json_and_lines_stay_lines() -> None:
    assert figures('{"ratio": 0.97, "cpu": {"agent": 1}}') == [("ratio", "0.97"), ("cpu", '{"agent": 1}')]
    assert figures("parse 120 us\n") == [("parse 120 us", "")]
