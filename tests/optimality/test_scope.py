"""Nothing is called proven alone: the sentence says of which space, under which time, and what both leave out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from designs import design_file

from evo_libra import certify, load_problem, search
from evo_libra.optimality.scope import scope_of
from evo_libra.optimality.whole_designs import count_networks
from evo_libra.problem.problem import Problem
from evo_libra.searching.registry import load_engine
from evo_libra.ui.commands.application import run

PARTS_SPACE = "33 networks of whole ports, under LIBRA's time and the prices of wafer."


def problem_of(name: str, *changes: str) -> Problem:
    found = load_problem(design_file(name), changes)
    assert isinstance(found, Problem)
    return found


@pytest.mark.parametrize(
    ("name", "changes", "space"),
    [
        ("wafer-20", (), "33 networks of whole ports"),
        ("wafer-20", ("bandwidth=optimal",), "9 topologies with parts in any fraction"),
        ("roce-128", (), "networks of whole ports (domains as sold)"),
        ("roce-128", ("fabric.domains=any",), "networks of whole ports (domains sold or not)"),
        ("llama3-405b-16k", (), "5,948 networks of whole ports (domains as sold) x 4,754 plans within the memory"),
        ("gpt3-4k", (), "60 topologies with bandwidths of 1 to 700 GB/s"),
        ("gpt3-4k", ("constraints=[sum(bw) <= 1000 GB/s]",), "to 700 GB/s, within 'sum(bw) <= 1000 GB/s'"),
        ("gpt3-4k", ("bandwidth={mode: search}",), "with bandwidths of 0.1 to 700 GB/s, under"),
        ("wafer-20", ("time={model: astra, latency_ns: 100, chunks: [1, 2]}",), "whole ports x 2 ways to"),
    ],
)  # fmt: skip
def test_the_space_is_a_product_of_what_is_open(name: str, changes: tuple[str, ...], space: str) -> None:
    assert space in str(scope_of(problem_of(name, *changes)))


def test_what_the_time_model_leaves_out_is_named() -> None:
    libra, astra = (scope_of(problem_of("roce-128", f"time={time}")) for time in (
        "libra", "{model: astra, chunks: 16, latency_ns: {nvlink4: 100}}"))  # fmt: skip
    assert libra.left_out == ("latency", "chunks of collectives", "routes that meet on a link")
    assert astra.left_out == ("routes that meet on a link",)
    assert (libra.time_model, astra.time_model) == ("LIBRA's time", "ASTRA-sim's time")


def test_engines_claim_what_they_prove() -> None:
    def claim(engine: str, problem: Problem) -> str:
        return load_engine(engine, problem).claim(650)

    whole, priced = problem_of("wafer-20"), problem_of("gpt3-4k")
    assert claim("exhaustive", whole).startswith(f"The front is exact of {PARTS_SPACE} Left out: latency")
    assert claim("exhaustive", priced).startswith("The front has the fastest design at each of 650 costs, to a rel")
    assert claim("nsga2", whole) == ""


@pytest.mark.slow
def test_a_network_that_comes_in_two_parts_is_counted_once() -> None:
    # Pairs of networks and plans are looked at in parts, whose borders lie within a network.
    problem = problem_of("llama3-405b-16k")
    assert (
        certify(problem, search(problem, evaluations=2000, engine="nsga2")).networks == count_networks(problem) == 5948
    )


@pytest.mark.slow
def test_commands_say_of_what_they_prove_something(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    def said(*command: str) -> str:
        assert run(list(command)) == 0
        return " ".join(capsys.readouterr().out.split())

    assert f"The front is exact of {PARTS_SPACE}" in said("search", "wafer-20", "--no-plot")
    assert f"Proven of {PARTS_SPACE}" in said("certify", "last")
    shown = said("recommend", "last")
    assert f"Proven of {PARTS_SPACE}" in shown
    assert "Proven of the space below: no design" in shown
    assert "Proven:" not in shown
    assert f"The front is exact of {PARTS_SPACE}" in said("show", "last")
    said("report", "last", "-o", "report.html")
    assert f"The proof is of {PARTS_SPACE}" in Path("report.html").read_text().replace("\\u0027", "'")
    for command in ("certify", "recommend"):
        found = json.loads(said(command, "last", "--json"))["proven_of"]
        assert found["sentence"].startswith(f"Proven of {PARTS_SPACE}")
        assert found["space"] == "33 networks of whole ports"
    assert json.loads(said("search", "wafer-20", "--no-plot", "--json"))["claim"].startswith("The front is exact of 33")


@pytest.mark.slow
def test_a_run_that_ends_by_its_gap_says_of_what_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gap = ["--gap", "0.05", "--gap-every", "5000", "--no-plot", "--out", str(tmp_path)]
    assert run(["search", "gpt3-4k", *gap]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert (
        "The front is within 0.05 of the best front of 60 topologies with bandwidths of 1 to 700 GB/s, under LIBRA"
        in shown
    )
