"""Each rule of the space, by the smallest design that breaks it: `evaluate` counts it, and one sentence names it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from designs import design_file

from evo_libra import load_problem
from evo_libra.problem.designs import violations
from evo_libra.problem.problem import Problem

PARTS = ("fabric.catalog=parts-2024", "fabric.technologies=[nvlink4, copper-400g, optics-400g]", "bandwidth=ports")
PRICES = ("fabric.catalog=libra", "bandwidth=search")

CASES = [
    (PARTS, (), "SW(8)@nvlink4:450_SW(8)@optics-400g:50", ""),
    (PARTS, ("fabric.pin=[{dimension: 0, npus: 4}]", "fabric.domains=any"), "SW(8)@nvlink4:450_SW(8)@optics-400g:50",
     "dimension 0 has 8 NPUs; the file pins 4"),
    (PARTS, ("fabric.pin=[{dimension: 1, technology: copper-400g}]",), "SW(8)@nvlink4:450_SW(8)@optics-400g:50",
     "dimension 1 is a switch of optics-400g; the file offers ring of copper-400g, switch of copper-400g"),
    (PARTS, (), "SW(8)@optics-400g:50_SW(8)@copper-400g:50",
     "dimension 1 of copper-400g lies outside of optics-400g; the catalogue has copper-400g further inside"),
    (PARTS, ("fabric.min_dimensions=2",), "SW(64)@optics-400g:50", "the design has 1 dimension; the file asks for 2"),
    (PARTS, ("fabric.one_dimension_per_technology=true",), "SW(8)@optics-400g:50_SW(8)@optics-400g:50",
     "dimension 1 is a second one of optics-400g; the file allows one dimension for each technology"),
    (PARTS, (), "SW(4)@nvlink4:450_SW(16)@optics-400g:50",
     "dimension 0 has 4 NPUs; a domain of nvlink4 has 8 NPUs; `fabric.domains` asks for others"),
    # A domain of 2 NPUs is one, too.
    (PARTS, (), "SW(2)@nvlink4:450_SW(32)@optics-400g:50",
     "dimension 0 has 2 NPUs; a domain of nvlink4 has 8 NPUs; `fabric.domains` asks for others"),
    (PARTS, ("fabric.domains={nvlink4: [4, 16]}",), "SW(4)@nvlink4:225_SW(4)@nvlink4:225_SW(4)@optics-400g:50",
     "dimension 1 is a second one of nvlink4, and a domain of it is sold as one"),
    (PRICES, ("fabric.blocks=[ring]",), "RI(8)@package:100_SW(8)@pod:50",
     "dimension 1 is a switch of pod; the file offers ring of chiplet, ring of package, ring of node, ring of pod"),
]  # fmt: skip


@pytest.mark.parametrize(("catalogue", "changes", "design", "sentence"), CASES)
def test_a_broken_rule_is_counted_and_named(
    tmp_path: Path, catalogue: Sequence[str], changes: Sequence[str], design: str, sentence: str
) -> None:
    path = tmp_path / "problem.yaml"
    path.write_text(
        "name: small\nnpus: 64\nfabric: {catalog: libra, max_dimensions: 3}\n"
        "workloads: [{model: gpt-3-libra, parallelism: {tp: 4}, compute_TFLOPS: 234}]\n"
    )
    problem = load_problem(str(path), [*catalogue, *changes])
    assert isinstance(problem, Problem)
    found = problem.evaluate(design)
    assert found.violation[0] == (1 if sentence else 0)
    assert violations(problem, problem.read(design)) == ([sentence] if sentence else [])


@pytest.mark.slow
def test_spares_are_those_that_the_file_offers() -> None:
    problem = load_problem(
        design_file("llama3-405b-16k"), ["faults={checkpoint_s: 20, restart_s: 300, host_npus: 8, spares: [0, 8]}"]
    )
    assert isinstance(problem, Problem)
    head, plan = "SW(8)@nvlink4:450_SW(2048)@optics-400g:50", problem.time.tables[0].texts[0]
    found = problem.evaluate([f"{head} spares={count} | {plan}" for count in (8, 3)])
    assert found.violation[1] - found.violation[0] == 1
    one = problem.read(f"{head} spares=3 | {plan}")
    assert violations(problem, one)[0] == "the design has 3 spare NPUs; the file offers 0, 8"
