"""Constraints on bandwidths and on every objective: whatever comes out of a search meets them."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from designs import design_file
from effort import costly
from hypothesis import example, given
from hypothesis import strategies as st

from evo_libra import load_problem, optimize, search
from evo_libra.errors import ConflictError, InputError, InvalidFrontError
from evo_libra.explain.rescore import rescore
from evo_libra.front.archive import Archive
from evo_libra.front.front import front_of
from evo_libra.problem import constraints, needs
from evo_libra.problem.allocation import equal_split
from evo_libra.problem.constraint_parser import UNITS, parse_constraint, units_of
from evo_libra.problem.designs import violations
from evo_libra.problem.file.registry import with_time
from evo_libra.problem.file.spec import ObjectiveName
from evo_libra.problem.objectives import MEASURES, PLAIN
from evo_libra.problem.problem import Problem
from evo_libra.ui.commands.application import run

OWNED = "tco={years: 4, usd_per_kWh: 0.1, pue: 1.3}"
FAULTS = "faults={checkpoint_s: 10, restart_s: 100, spares: [0, 8, 16]}"
EXAMPLES = int(os.environ.get("EVO_LIBRA_EXAMPLES", "8"))
"""Random problems; the environment variable asks for more."""
SEEDS = st.integers(0, 2**32 - 1)
SIZES = {kind: (unit, size) for unit, (kind, size) in reversed(UNITS.items())}
"""The first unit of each kind, and its size in SI."""

ANY = ("fabric.domains=any", "fabric.max_dimensions=3", "workloads[0].tp_domain=any")
PROBLEMS = {
    "ports": ("dense-1k", ("npus=128", "time=libra", OWNED, FAULTS, *ANY)),
    "parts, optimal": ("dense-1k", ("npus=128", "time=libra", OWNED, FAULTS, *ANY, "bandwidth=optimal")),
    "astra": ("dense-1k", ("npus=64", "time={model: astra, chunks: 8}", OWNED, FAULTS, "fabric.max_dimensions=2")),
    "search": ("gpt3-4k", ("npus=256",)),
    "optimal": ("gpt3-4k", ("npus=256", "bandwidth.mode=optimal")),
    "trained": ("gpt3-175b-1536", (OWNED,)),
    "trained, optimal": ("gpt3-175b-1536", (OWNED, "bandwidth=optimal")),
}


@cache
def plain(kind: str) -> Problem:
    return load(kind)


def load(kind: str, *constraints: str) -> Problem:
    name, assignments = PROBLEMS[kind]
    listed = ", ".join(f'"{text}"' for text in constraints)
    found = load_problem(design_file(name), [*assignments, f"constraints=[{listed}]"])
    assert isinstance(found, Problem)
    return found


def limit_text(name: str, relation: str, value: float) -> str:
    unit, size = SIZES[MEASURES[name].unit]
    return f"{name} {relation} {value / size:.6e} {unit}"


def limitable(kind: str) -> list[str]:
    known, missing = plain(kind), {needs.USERS, needs.ORDER}
    missing |= set() if known.pricing.kits else {needs.WATTS}
    missing |= set() if known.sources.training else {needs.TRAINING}
    missing |= set() if known.sources.npu.names else {needs.NPU_PRICE}
    missing |= set() if known.sources.faults else {needs.FAULTS}
    return [name for name, measure in PLAIN.items() if not measure.needs & missing]


Limit = tuple[str, str, float]
"""An objective, a relation, and which share of random designs is to be below the limit."""


@st.composite
def limits(draw: st.DrawFn) -> tuple[str, list[Limit]]:
    """A problem, and one or two limits of its objectives."""
    kind = draw(st.sampled_from(sorted(PROBLEMS)))
    one = st.tuples(st.sampled_from(limitable(kind)), st.sampled_from(["<=", ">="]), st.floats(0.2, 0.8))
    return kind, draw(st.lists(one, min_size=1, max_size=2))


@pytest.mark.slow
@given(limits(), SEEDS)
@example(("trained, optimal", [("power", ">=", 0.71875)]), 0)  # a solver that gives up returns 1e300
@costly(EXAMPLES)
def test_every_design_of_a_front_meets_the_limits_of_any_objectives(case: tuple[str, list[Limit]], seed: int) -> None:
    kind, asked = case
    free = plain(kind)
    designs = free.decode(free.genome.sample(np.random.default_rng(seed), 100))
    figures = [float(np.quantile(MEASURES[name].value(free.measure(designs)), share)) for name, _, share in asked]
    texts = [limit_text(name, relation, limit) for (name, relation, _), limit in zip(asked, figures, strict=True)]
    try:
        problem = load(kind, *texts)
    except ConflictError:
        assert len(asked) > 1  # one of them random designs meet
        return
    front = search(problem, evaluations=300, population=40, seed=seed % 1000)
    if not len(front):
        return
    rows = front.frame["design"].to_list()
    again = free.measure(free.read(rows))
    for (name, relation, _), limit in zip(asked, figures, strict=True):
        over = MEASURES[name].value(again) / limit - 1
        assert (over <= 1e-5).all() if relation == "<=" else (over >= -1e-5).all()
    assert not problem.evaluate(rows).violation.any()
    assert not any(violations(problem, problem.read(row)) for row in rows[:5])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "name", "relation"),
    [("parts, optimal", "power", "<="), ("parts, optimal", "tco", "<="), ("parts, optimal", "bisection", ">="),
     ("optimal", "bisection", ">="), ("optimal", "cost", "<=")],
)  # fmt: skip
def test_no_sampled_design_that_meets_a_limit_beats_the_solved_bandwidths(kind: str, name: str, relation: str) -> None:
    free, random = plain(kind), np.random.default_rng(7)
    genes = free.genome.sample(random, 400)
    topologies, designs = free.sections.decode(genes).networks, free.decode(genes)
    near = topologies.low * (
        np.minimum(topologies.high, topologies.low * 50) / np.where(topologies.low, topologies.low, 1)
    ) ** (random.random(topologies.low.shape))
    sampled = replace(designs, bandwidth=near)
    limit = float(np.median(MEASURES[name].value(free.measure(sampled))))
    problem = load(kind, limit_text(name, relation, limit))
    worth = problem.evaluate(sampled)
    times = worth.objectives[0]
    met = 0
    for structure in np.unique(genes[0]).tolist()[:25]:
        mine = np.flatnonzero((genes[0] == structure) & (worth.violation <= 0))
        place = problem.structures.find(designs.npus[:, mine[:1]], designs.technology[:, mine[:1]])
        if not len(mine) or place[0] < 0:
            continue
        met += 1
        one = np.vstack([np.full((1, 1), float(place[0])), genes[1:, mine[:1]]])
        if len(one) > 1 + len(problem.choices):
            one[-1] = problem.genome.upper[-1]
        solved = problem.evaluate_genes(problem.genome.repair(one))
        same_blocks = (designs.block[:, mine] == designs.block[:, mine[:1]]).all(axis=0)
        if solved.violation[0] <= 0:
            assert solved.objectives[0, 0] <= times[mine[same_blocks]].min() * (1 + 1e-9)
    assert met > 5


@pytest.mark.parametrize("name", ["power", "tco", "bisection"])
def test_a_linear_limit_is_met_exactly_where_it_binds(name: str) -> None:
    relation = ">=" if name == "bisection" else "<="
    free = plain("parts, optimal")
    designs = free.decode(free.genome.sample(np.random.default_rng(1), 60))
    limit = float(np.quantile(MEASURES[name].value(free.measure(designs)), 0.6 if relation == "<=" else 0.3))
    problem = load("parts, optimal", limit_text(name, relation, limit))
    genes = problem.genome.sample(np.random.default_rng(2), 300)
    genes[-1] = problem.genome.upper[-1] if relation == "<=" else problem.genome.lower[-1]
    worth, value = problem.evaluate_genes(genes), MEASURES[name].value(problem.measure(problem.decode(genes)))
    feasible = worth.violation <= 0
    assert feasible.any()
    assert (np.abs(value[feasible] / limit - 1) < 1e-6).any()


def test_cost_of_whole_parts_is_what_a_limit_limits() -> None:
    free = plain("ports")
    genes = free.genome.sample(np.random.default_rng(3), 500)
    cost = free.evaluate_genes(genes).objectives[1]
    limit = float(np.median(cost))
    problem = load("ports", limit_text("cost", "<=", limit))
    designs = free.decode(genes)
    over = problem.evaluate(designs).violation > 0
    np.testing.assert_array_equal(over, (cost > limit * (1 + 1e-5)))
    assert 0.3 < over.mean() < 0.7


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(PROBLEMS))
def test_the_evaluation_sees_whatever_the_sentences_say(kind: str) -> None:
    problem, random = plain(kind), np.random.default_rng(5)
    designs = problem.decode(problem.genome.sample(random, 30))
    factor = random.choice([0.0, 1e-4, 0.5, 1.0, 3.0, 1e4], designs.bandwidth.shape, p=[0.05, 0.05, 0.1, 0.6, 0.1, 0.1])
    damaged = replace(designs, bandwidth=designs.bandwidth * factor)
    violation = problem.evaluate(damaged).violation
    np.testing.assert_array_equal(problem.violation(damaged), violation)
    broken = violation > 0
    said = [bool(violations(problem, damaged.select([n]))) for n in range(len(damaged))]
    assert broken.tolist() == said
    assert 0 < broken.sum() < len(broken)


PARTS = design_file("dlrm-1k-parts")


@pytest.mark.slow
@pytest.mark.parametrize("json", [[], ["--json"]])
@pytest.mark.parametrize(
    ("name", "constraint"),
    [(PARTS, "cost <= 1e6 USD"), (PARTS, "power <= 1 kW"), ("gpt3-4k", "cost <= 1 USD"),
     ("moe-4k", "time <= 1 us")],
)  # fmt: skip
def test_a_problem_without_a_feasible_design_ends_with_one_sentence(
    name: str, constraint: str, json: list[str], tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    mode = "bandwidth.mode=optimal" if name == "gpt3-4k" else "bandwidth=optimal"
    words = ["search", name, "--set", mode, "--set", f'constraints=["{constraint}"]', "--evaluations", "300"]
    assert run([*words, "--out", str(tmp_path), *json]) == 1
    (sentence,) = capsys.readouterr().err.splitlines()
    assert "no design meets the constraints" in sentence or f"can meet '{constraint}'" in sentence


@pytest.mark.slow
@pytest.mark.parametrize(("name", "constraint"), [("moe-4k", "sum(bw) <= 300 GB/s"), (PARTS, "sum(bw) <= 60 GB/s")])
def test_solved_bandwidths_that_no_limit_allows_are_on_no_front(name: str, constraint: str) -> None:
    problem = load_problem(name, ["bandwidth=optimal", f'constraints=["{constraint}"]'])
    assert isinstance(problem, Problem)
    genes = problem.genome.sample(np.random.default_rng(0), 500)
    designs, worth = problem.decode(genes), problem.evaluate_genes(genes)
    without = ((designs.bandwidth <= 0) & (designs.npus > 1)).any(axis=0)
    assert not without.any()
    assert not (without & (worth.violation <= 0)).any()
    assert (
        designs.bandwidth.sum(axis=0)[worth.violation <= 0] <= float(constraint.split()[2]) * 1e9 * (1 + 1e-9)
    ).all()


def test_a_least_bandwidth_of_nothing_is_no_licence_to_leave_dimensions_without() -> None:
    problem = load_problem(
        "gpt3-4k",
        ["bandwidth={mode: optimal, min_GBps: 0, max_GBps: 700}", "npus=256", "workloads[0].parallelism={tp: 1}"],
    )
    assert isinstance(problem, Problem)
    designs = problem.decode(problem.genome.sample(np.random.default_rng(0), 50))
    designs.bandwidth[0, :25] = 0.0
    assert (problem.evaluate(designs).violation[:25] > 0).all()


def test_a_front_is_checked_before_it_is_one() -> None:
    problem = load("ports", "cost <= 400 kUSD")
    genes = problem.genome.sample(np.random.default_rng(0), 200)
    worth = problem.evaluate_genes(genes)
    bad, good = np.flatnonzero(worth.violation > 0)[:1], np.flatnonzero(worth.violation <= 0)[:1]
    assert len(front_of(problem, Archive(genes[:, good], worth.objectives[:, good]))) == 1
    with pytest.raises(InvalidFrontError, match=r"1 of 1 designs .* 'cost <= 400 kUSD' is broken"):
        front_of(problem, Archive(genes[:, bad], worth.objectives[:, bad]))
    faster = (worth.violation > 0) & (worth.objectives[0] < worth.objectives[0, good])
    both = np.append(good, np.flatnonzero(faster)[:1])
    with pytest.raises(InvalidFrontError, match=r"1 of 2 designs .* 'cost <= 400 kUSD' is broken"):
        front_of(problem, Archive(genes[:, both], worth.objectives[:, both]))
    with pytest.raises(InvalidFrontError, match="not finite"):
        front_of(problem, Archive(genes[:, good], worth.objectives[:, good] * np.nan))


def test_what_a_constraint_cannot_be_is_told() -> None:
    def read(text: str) -> None:
        parse_constraint(text, 3, ("node", "pod"))

    for text, sentence in {
        "power <= 2 MUSD": "it compares power with a number of cost; allowed: W, kW, MW",
        "bisection >= 3 ms": "it compares bisection with a number of time; allowed: TB/s, GB/s, MB/s",
        "energy <= 5": "5 has no unit",
        "power + cost <= 3 MW": "it compares cost and power; one of bandwidth, time, cost, power, system-power, "
        "system-cost, order-cost, network-cost, tco, "
        "energy, time-cost, bisection, tokens-per-s, tokens-per-s-one-out, memory, "
        "energy-per-token, system-tco, usd-per-Mtoken, "
        "usd-per-trillion-tokens, ttft, tpot, goodput, "
        "useful-share is needed",
        "powr <= 2 MW": "did you mean 'power'",
        "power <= 2 MWh": "unknown unit 'MWh'",
        "tco <= 5 MUSD": "needs the key 'tco'",
    }.items():
        with pytest.raises(InputError) as error:
            read(text)
        assert sentence in str(error.value)
    with pytest.raises(InputError, match=r"constraints.*power needs a catalogue of parts"):
        load("search", "power <= 2 MW")


def test_what_a_constraint_can_be() -> None:
    (product,) = parse_constraint("time-cost <= 3 kUSD s", 3, ("node", "pod"))
    assert (product.quantity, product.objective, product.limit, product.linear) == ("time-cost", 1.0, 3000.0, False)
    low, high = parse_constraint("1 TB/s <= 2 * bisection <= 3 TB/s", 3, ("node", "pod"))
    assert (low.linear, low.limit, low.objective) == (False, 3e12, 2.0) or (high.linear, low.linear) == (False, True)
    assert set(get_args(ObjectiveName)) == set(MEASURES)


@pytest.mark.slow
def test_optimize_knows_limits_that_are_linear_in_the_bandwidths() -> None:
    free = optimize("gpt3-4k", total=500e9, shape="RI(4)_FC(8)_RI(4)_SW(32)")
    wide = optimize("gpt3-4k", total=500e9, shape="RI(4)_FC(8)_RI(4)_SW(32)", constraints=["bisection >= 100 TB/s"])
    assert wide.time > free.time
    problem = load_problem("gpt3-4k", ["bandwidth.mode=optimal"])
    assert isinstance(problem, Problem)
    reached = MEASURES["bisection"].value(problem.measure(wide.network))[0]
    assert reached == pytest.approx(100e12, rel=1e-8)
    assert [binding.quantity for binding in wide.binding if "bisection" in binding.limit] == ["bisection"]
    small = ("npus=128", "time=libra")
    parts = optimize("dense-1k", assignments=small, constraints=["power <= 15 kW"])
    assert any(binding.limit == "power <= 15 kW" for binding in parts.binding)
    more = optimize("dense-1k", assignments=small, constraints=["power <= 15.001 kW"])
    price = next(binding.price for binding in parts.binding if binding.quantity == "power")
    assert parts.time - more.time == pytest.approx(price, rel=1e-3)
    with pytest.raises(ConflictError, match="power <= 1 W"):
        optimize("dense-1k", assignments=small, constraints=["power <= 1 W"])
    with pytest.raises(InputError, match="'energy <= 1 J' does not hold where time is least"):
        optimize("dense-1k", assignments=small, constraints=["energy <= 1 J"])


@pytest.mark.parametrize(
    "constraint", ["bw[0] <= 100 GB/s", "cost <= 8 MUSD", "bw[3] >= 15 GB/s", "sum(bw) <= 300 GB/s"]
)
def test_the_equal_split_is_the_best_that_can_be_built(constraint: str) -> None:
    shape = "RI(4)@chiplet_FC(8)@package_RI(4)@node_SW(32)@pod"
    found = optimize("gpt3-4k", shape=shape, constraints=[constraint])
    problem = load_problem(
        "gpt3-4k", ["bandwidth={mode: optimal, min_GBps: 0, max_GBps: 1e6}", f"constraints=['{constraint}']"]
    )
    assert isinstance(problem, Problem)
    assert found.equal is not None
    each = found.equal.bandwidth

    def text(bandwidth: float) -> str:
        return "_".join(f"{part}:{bandwidth / 1e9!r}" for part in shape.split("_"))

    worth = problem.evaluate([text(each), text(each * (1 + 1e-6))])
    assert worth.violation[0] == 0
    assert worth.objectives[:, 0] == pytest.approx((found.equal.time, found.equal.cost), rel=1e-12)
    assert worth.violation[1] > 0 or each >= min(t.bandwidth_cap or np.inf for t in problem.catalog.technologies)
    assert found.speedup is not None
    assert found.speedup >= 1 - 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("constraints", [(), ("cost <= 300 kUSD",), ("power <= 5 kW",), ("bisection >= 5 TB/s",)])
def test_the_equal_split_of_parts_is_of_whole_ports(constraints: tuple[str, ...]) -> None:
    problem = load("ports", *constraints)
    designs = problem.decode(problem.genome.sample(np.random.default_rng(4), 40))
    found = 0
    for n in range(len(designs)):
        one = designs.select([n])
        used = one.npus[:, 0] > 1
        each = np.arange(1, 40) * 12.5e9
        tried = replace(one.select([0] * len(each)), bandwidth=np.where(used[:, None], each, 0.0))
        feasible = each[problem.evaluate(tried).violation <= 0]
        for most in (np.inf, 100e9):
            possible = feasible[feasible <= most]
            equal = equal_split(problem, one, max_bandwidth=most)
            assert (equal is None) == (not len(possible))
            if equal is not None:
                found += 1
                assert equal.bandwidth[used, 0] == pytest.approx(np.full(used.sum(), possible.max()), rel=1e-9)
                assert not problem.evaluate(equal).violation.any()
    assert found


def test_an_equal_split_that_cannot_be_built_is_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["optimize", "gpt3-4k", "--shape", "RI(4)_FC(8)_RI(4)_SW(32)", "--total", "500", "--constraint"]
    assert run([*words, "bw[3] <= 10 GB/s"]) == 0
    out = capsys.readouterr().out
    assert "no design of this network with equal bandwidths meets the limits" in out
    assert "125" not in out
    assert run([*words, "bw[3] <= 10 GB/s", "--json"]) == 0
    assert '"equal_split": null' in capsys.readouterr().out


def test_the_docs_list_the_unit_of_every_objective() -> None:
    text = (Path(__file__).parents[2] / "docs" / "how-to" / "constraints.md").read_text()
    limits = dict(re.findall(r"^\| `([A-Za-z-]+)` \| ([^|]+) \|", text, re.MULTILINE))
    assert limits == {name: units_of(measure.unit) for name, measure in PLAIN.items()}


@pytest.mark.parametrize("bandwidth", ["optimal", "{mode: optimal, min_GBps: 0, max_GBps: 3000}"])
def test_a_front_of_solved_bandwidths_is_feasible_under_another_time(bandwidth: str) -> None:
    given = ["npus=64", f"bandwidth={bandwidth}", "fabric.catalog=libra"]
    problem = load_problem("gpt3-4k", given)
    assert isinstance(problem, Problem)
    front = search(problem, evaluations=200, population=40, seed=0)
    other = load_problem("gpt3-4k", [*given, *with_time(problem, "astra"), "time.latency_ns=100"])
    assert isinstance(other, Problem)
    found = rescore(front, other).frame
    assert found["feasible"].all()
    # The wide box is used, or nothing was tried.
    assert front.frame["bandwidth[0]_GBps"].max() > (1000 if "3000" in bandwidth else 500)


def test_several_constraints_are_met_in_few_sweeps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exact projections creep into the corner of both: of these designs 174 of 1,000 took more than 16 sweeps."""
    problem = problem_of_constraints("bw[0] >= 2*bw[1]", "bw[1] >= 2*bw[2]")
    low, high = np.full((3, 1000), 1e9), np.full((3, 1000), 7e11)
    bandwidth = 10.0 ** np.random.default_rng(0).uniform(9.0, 11.84, size=(3, 1000))
    rows = [(one, np.repeat(np.array(one.dimension)[:3, None], 1000, axis=1)) for one in problem]
    monkeypatch.setattr(constraints, "_SWEEPS", 16)
    found = constraints.project(bandwidth, low, high, rows)
    assert (found[0] >= 2 * found[1] * (1 - 1e-9)).all()
    assert (found[1] >= 2 * found[2] * (1 - 1e-9)).all()
    assert ((found >= low) & (found <= high)).all()


def problem_of_constraints(*texts: str) -> tuple[constraints.Constraint, ...]:
    problem = load_problem("gpt3-4k", [f"constraints={list(texts)}"])
    assert isinstance(problem, Problem)
    return problem.constraints
