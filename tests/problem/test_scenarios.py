"""Objectives and constraints over scenarios of uncertain prices and weights."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from evo_libra import certify, load_problem, optimize, search
from evo_libra.arrays import FloatArray
from evo_libra.errors import InputError
from evo_libra.explain.prices import price_front
from evo_libra.front.front import Front
from evo_libra.network.bill import parts_of
from evo_libra.network.blocks import Range
from evo_libra.problem.designs import violations
from evo_libra.problem.objectives import MEASURES, PLAIN
from evo_libra.problem.problem import Problem
from evo_libra.problem.scenarios import draw
from evo_libra.problem.statistics import NAMED, STATISTICS

DRAWN, SEED = 9, 3
NPU_PRICE = (20_000.0, 50_000.0)
WEIGHTS = ({"low": 0.2, "value": 1, "high": 5}, {"low": 0.5, "value": 0.5, "high": 0.75}, 2)
PARTS = {
    "cable": {"kind": "link", "price_usd": {"low": 20.3, "value": 100.1, "high": 130}},
    "optics": {"kind": "transceiver", "price_usd": {"low": 300, "value": 600, "high": 1400.7}, "power_W": 9},
    "crossbar": {"kind": "switch", "price_usd": {"low": 0, "value": 3000, "high": 3000}, "ports": 64},
    "router": {"kind": "switch", "price_usd": 36_000, "power_W": 747, "ports": 64},
    "card": {"kind": "nic", "price_usd": {"low": 1000, "value": 1000, "high": 1900}, "ports": 2},
}
KITS = {
    "near": {"port_GBps": 25, "ports": 18, "domain_size": 64, "blocks": ["ring", "fully-connected", "switch"],
             "link": "cable", "switch": "crossbar"},
    "far": {"port_GBps": 50, "ports": 4, "blocks": ["ring", "switch"], "link": "cable", "transceiver": "optics",
            "nic": "card", "switch": "router"},
}  # fmt: skip
LAYERS = [
    {"model": "gpt-3-libra", "parallelism": {"tp": 8}, "compute_TFLOPS": 400},
    {"model": "dlrm-libra", "compute_TFLOPS": 234},
    {"model": "resnet-50-libra"},
]
GENERATOR = {
    "kind": "decoder", "layers": 4, "hidden": 1024, "heads": 8, "kv_heads": 4, "feed_forward": 2816, "gated": True,
    "vocabulary": 32000,
}  # fmt: skip
STEPS: list[dict[str, Any]] = [
    {"name": f"decoder{n}", "generator": GENERATOR, "parallelism": {"tp": [1, 2, 4]},
     "training": {"sequence": 1024 * n, "global_batch": 512, "micro_batch": [1, 2], "tp_domain": "any"}}
    for n in (1, 2, 3)
]  # fmt: skip
KINDS: dict[str, tuple[list[dict[str, Any]], Any]] = {
    "layers": (LAYERS, "libra"),
    "normalised": (LAYERS, {"model": "libra", "weights": "normalised"}),
    "astra": (LAYERS[:2], {"model": "astra", "chunks": 4}),
    "steps": (STEPS, "libra"),
}
EVERY = ["time", "cost", "tco", "energy", "time-cost"]
OF_STEPS = ["system-cost", "tokens-per-s", "energy-per-token"]


def write(
    folder: Path, kind: str, objectives: Sequence[str], *,
    prices: Sequence[float] | None = None, weights: Sequence[float] | None = None, npu_price: float | None = None,
    **more: Any,
) -> Problem:  # fmt: skip
    """Return a problem; where prices and weights are given, it has these and no ranges."""
    folder.mkdir(exist_ok=True)
    about = {"source": "here", "year": 2024}
    parts = {name: {"power_W": 0, **part, **about} for name, part in PARTS.items()}
    for name, price in zip(sorted(parts), prices or (), strict=prices is not None):
        parts[name]["price_usd"] = price
    kits = {name: {"latency_ns": 50, **kit, **about} for name, kit in KITS.items()}
    catalog = {"kind": "parts", "name": "own", "source": "here", "parts": parts, "technologies": kits}
    (folder / "own.yaml").write_text(json.dumps(catalog))
    workloads, model = KINDS[kind]
    low, high = (npu_price, npu_price) if npu_price is not None else NPU_PRICE
    npu = {"base": "h100-80gb", "price_usd": [low, high], "sources": {"price_usd": "drawn, 2026"}}
    data = {
        "name": "own", "npus": 64, "fabric": {"catalog": "own.yaml", "max_dimensions": 2}, "bandwidth": "ports",
        "workloads": [{**one, "weight": weight} for one, weight in zip(workloads, weights or WEIGHTS, strict=False)],
        "time": model, "objectives": list(objectives), "tco": {"years": 3, "usd_per_kWh": 0.1, "pue": 1.2},
        "uncertainty": {"scenarios": DRAWN, "seed": SEED},
        **({"npu": npu} if kind == "steps" else {}), **more,
    }  # fmt: skip
    (folder / "problem.yaml").write_text(json.dumps(data))
    found = load_problem(str(folder / "problem.yaml"))
    assert isinstance(found, Problem)
    return found


def over(names: Sequence[str]) -> list[str]:
    return [f"{name}.{statistic}" for name in names for statistic in STATISTICS]


def expected(values: FloatArray) -> dict[str, FloatArray]:
    """Return the statistics of (s, n) values as NumPy has them."""
    drawn = values[len(NAMED) :]
    return {
        "mean": drawn.mean(axis=0),
        "p50": np.quantile(drawn, 0.5, axis=0),
        "p95": np.quantile(drawn, 0.95, axis=0),
        "worst": values.max(axis=0),
    }


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_figure_is_that_of_problems_with_the_prices_and_weights_of_each_scenario(
    kind: str, tmp_path: Path
) -> None:
    names = EVERY + (OF_STEPS if kind == "steps" else [])
    robust = write(tmp_path / "robust", kind, [*names, *over(names)])
    genes = robust.genome.sample(np.random.default_rng(0), 30)
    designs = list(map(str, robust.fabrics(robust.decode(genes))))
    found = robust.evaluate(designs)
    count = len(KINDS[kind][0])
    weights = [Range(*w.values()) if isinstance(w, dict) else Range(w, w, w) for w in WEIGHTS[:count]]
    prices = draw([part.price for part in parts_of(robust.pricing.kits).values()], DRAWN, SEED)
    weight, npu = draw(weights, DRAWN, (SEED, 1)), draw([Range(20e3, 35e3, 50e3)], DRAWN, (SEED, 2))
    each = []
    for s in range(DRAWN + len(NAMED)):
        fixed = {"prices": prices[:, s].tolist(), "weights": weight[:, s].tolist(), "npu_price": float(npu[0, s])}
        each.append(write(tmp_path / str(s), kind, names, **fixed).evaluate(designs).objectives)
    stated, scenarios = found.objectives[: len(names)], np.array(each)
    np.testing.assert_allclose(scenarios[NAMED.index("value")], stated, rtol=1e-12)
    assert (np.ptp(scenarios[len(NAMED) :], axis=0) > 0).any(axis=1).all()
    rows = iter(found.objectives[len(names) :])
    for m in range(len(names)):
        for statistic, values in expected(scenarios[:, m]).items():
            np.testing.assert_allclose(next(rows), values, rtol=1e-11, err_msg=f"{names[m]}.{statistic}")


@cache
def robust_problem(kind: str, folder: Path) -> Problem:
    return write(folder / kind, kind, over(EVERY), uncertainty={"scenarios": 20, "seed": 1})


@pytest.mark.slow
@given(st.sampled_from(sorted(KINDS)), st.integers(0, 2**32 - 1))
@settings(max_examples=15)
def test_a_design_has_the_same_figures_among_any_others(
    tmp_path_factory: pytest.TempPathFactory, kind: str, seed: int
) -> None:
    problem, random = robust_problem(kind, tmp_path_factory.getbasetemp()), np.random.default_rng(seed)
    genes = problem.genome.sample(random, 40)
    whole = problem.evaluate_genes(genes)
    order = random.permutation(40)[: random.integers(1, 40)]
    np.testing.assert_array_equal(problem.evaluate_genes(genes[:, order]).objectives, whole.objectives[:, order])
    np.testing.assert_array_equal(problem.evaluate(problem.decode(genes)).objectives, whole.objectives)
    mean, median, high, worst = (whole.objectives[row :: len(STATISTICS)] for row in range(len(STATISTICS)))
    assert (median <= high).all()
    assert (high <= worst).all()
    assert (mean <= worst).all()
    assert (median < worst).any()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scenarios", [1, 5, 64])
def test_where_nothing_varies_every_statistic_is_the_stated_figure(kind: str, scenarios: int, tmp_path: Path) -> None:
    names = EVERY + (OF_STEPS if kind == "steps" else [])
    problem = write(tmp_path, kind, [*names, *over(names)], uncertainty={"scenarios": scenarios, "seed": 0})
    assert problem.sources.scenarios is not None
    changes = {name: 0.0 * one for name, one in vars(problem.sources.scenarios).items() if name != "parts"}
    sources = replace(problem.sources, scenarios=replace(problem.sources.scenarios, **changes))
    problem = replace(problem, sources=sources)
    found = problem.evaluate_genes(problem.genome.sample(np.random.default_rng(1), 50)).objectives
    for m in range(len(names)):
        for row in found[len(names) + m * len(STATISTICS) :][: len(STATISTICS)]:
            np.testing.assert_array_equal(row, found[m])


@given(arrays(np.float64, st.tuples(st.integers(1, 70), st.integers(1, 5)), elements=st.floats(1e-6, 1e6)))
def test_statistics_are_numpys(drawn: FloatArray) -> None:
    values = np.concatenate([np.sort(drawn, axis=0)[[0, len(drawn) // 2, -1]], drawn])
    before = values.copy()
    for name, wanted in expected(values).items():
        np.testing.assert_allclose(STATISTICS[name].of(values), wanted, rtol=1e-12)
    np.testing.assert_array_equal(values, before)
    assert (STATISTICS["p50"].of(values) <= STATISTICS["p95"].of(values)).all()
    assert (STATISTICS["p95"].of(values) <= STATISTICS["worst"].of(values)).all()


def test_costs_are_those_of_the_scenarios_that_score_a_front_afterwards(tmp_path: Path) -> None:
    problem = write(tmp_path, "layers", ["time", "cost.mean", "cost.worst"])
    found = search(problem, evaluations=300, population=40, seed=0)
    scored = price_front(found, problem, DRAWN, SEED).frame
    np.testing.assert_allclose(found.frame["mean_cost_usd"], scored["mean_usd"], rtol=1e-12)
    np.testing.assert_allclose(found.frame["worst_cost_usd"], scored["worst_usd"], rtol=1e-12)


@pytest.mark.slow
def test_a_robust_front_is_the_best_at_what_it_minimises(tmp_path: Path) -> None:
    known = {"npus": 512, "fabric": {"catalog": "parts-2024", "max_dimensions": 3}}
    stated = write(tmp_path / "a", "layers", ["time", "cost"], **known)
    robust = write(tmp_path / "b", "layers", ["time.p95", "cost.p95"], **known)
    # Both look at the same designs.
    first, second = (search(one, engine="random", evaluations=3000, population=100, seed=0) for one in (stated, robust))
    scored = robust.evaluate(first.frame["design"].to_list()).objectives
    mine = robust.evaluate(second.frame["design"].to_list()).objectives
    for n in range(scored.shape[1]):
        assert (mine <= scored[:, [n]]).all(axis=0).any()
    assert set(first.frame["design"]) != set(second.frame["design"])


@pytest.mark.slow
def test_limits_over_scenarios_hold_on_the_front_and_are_named(tmp_path: Path) -> None:
    free = write(tmp_path / "a", "steps", ["time", "cost", "cost.p95", "tokens-per-s.worst"])
    sampled = free.decode(free.genome.sample(np.random.default_rng(0), 300))
    cost, rate = (MEASURES[name].value(free.measure(sampled)) for name in ("cost.p95", "tokens-per-s.worst"))
    limits = [f"cost.p95 <= {np.median(cost):.0f} USD", f"tokens-per-s.worst >= {np.median(rate):.0f} token/s"]
    problem = write(tmp_path / "b", "steps", ["time", "cost"], constraints=limits)
    front = search(problem, evaluations=600, population=60, seed=0)
    assert len(front)
    figures = free.measure(free.read(front.frame["design"].to_list()))
    assert (MEASURES["cost.p95"].value(figures) <= np.median(cost) * (1 + 1e-6)).all()
    assert (MEASURES["tokens-per-s.worst"].value(figures) >= np.median(rate) * (1 - 1e-6)).all()
    broken = violations(problem, sampled.select([int(cost.argmax())]))
    assert any("cost.p95" in one and "USD" in one for one in broken)
    # Throughput is the least where what is minimised, the time of a token, is the largest.
    worst = free.evaluate(sampled).objectives[3]
    np.testing.assert_allclose(rate, 1e6 / worst, rtol=1e-12)


@pytest.mark.slow
def test_solved_bandwidths_can_be_limited_over_scenarios(tmp_path: Path) -> None:
    problem = write(tmp_path, "layers", ["time", "cost"], bandwidth="optimal", constraints=["cost.worst <= 900 kUSD"])
    figures = problem.measure(problem.decode(problem.genome.sample(np.random.default_rng(0), 100)))
    worst = MEASURES["cost.worst"].value(figures)
    assert (figures.cost <= worst).all()
    # All prices at their upper ends: between the largest and the smallest rise of a price.
    assert (worst <= figures.cost * (1400.7 / 600) * (1 + 1e-9)).all()
    assert (worst > figures.cost).any()
    front = search(problem, evaluations=300, population=40, seed=0)
    assert len(front)
    assert (
        MEASURES["cost.worst"].value(problem.measure(problem.read(front.frame["design"].to_list()))) <= 9e5 + 1
    ).all()


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"objectives": ["time", "cost.p95"], "uncertainty": {"prices": False}},
         "objectives: cost.p95 is over scenarios, and `uncertainty.prices` is false"),
        ({"constraints": ["time.worst <= 1 s"], "workloads": LAYERS},
         "constraints: time.worst is over scenarios, and no workload's weight is a range"),
        ({"objectives": ["cost.p95"], "fabric": {"catalog": "libra"}, "bandwidth": "search"},
         "cost.p95 is over scenarios, and no price is a range"),
        ({"objectives": ["time.p95"], "bandwidth": "optimal"}, "time.p95 is over scenarios; with `bandwidth: ports`"),
        ({"objectives": ["cost.p59"]}, "did you mean 'cost.p95'?"),
        ({"constraints": ["cost.p59 <= 1 USD"]}, "unknown name 'cost.p59'"),
        ({"constraints": ["power.p95 <= 1 W"]}, "unknown name 'power.p95'"),
        ({"constraints": ["cost.p95 <= 1 W"]}, "it compares cost.p95 with a number of power"),
        ({"uncertainty": {"scenarios": 0}}, "uncertainty.scenarios"),
        ({"workloads": [{**LAYERS[0], "weight": {"low": 2, "value": 1, "high": 3}}]}, "low <= value <= high"),
    ],
)  # fmt: skip
def test_mistakes_are_one_sentence(more: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        write(tmp_path, "layers", more.pop("objectives", ["time", "cost"]), **more)
    assert sentence in str(error.value)


def test_proofs_of_time_and_cost_refuse_objectives_over_scenarios(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evo_libra.optimality.whole_designs.MAX_NETWORKS", 10)
    problem = write(tmp_path, "layers", ["time", "cost.p95"])
    with pytest.raises(InputError, match="has more designs of whole ports than exhaustive evaluates"):
        search(problem, engine="exhaustive", evaluations=100, population=10)
    front: Front = search(problem, evaluations=100, population=20, seed=0)
    with pytest.raises(InputError, match="a certificate needs a front of time against cost"):
        certify(problem, front)
    with pytest.raises(InputError, match=r"solved for at stated prices and weights, and cost.p95 is over scenarios"):
        optimize(str(tmp_path / "problem.yaml"))


def test_what_has_statistics() -> None:
    certain = ("power", "system-power", "bisection", "memory", "ttft", "tpot", "useful-share")
    varied = {name.partition(".")[0] for name in MEASURES if "." in name}
    assert varied == {name for name in PLAIN if name not in certain}
    assert len({measure.objective.column for measure in MEASURES.values()}) == len(MEASURES)
    assert all(measure.statistic is None for measure in PLAIN.values())


def test_64_scenarios_take_at_most_8_times_the_time_of_one(tmp_path: Path) -> None:
    problems = [
        write(tmp_path / str(n), "layers", ["time.p95", "cost.p95"], uncertainty={"scenarios": n}) for n in (1, 64)
    ]
    genes, ratios = problems[0].genome.sample(np.random.default_rng(0), 4096), []
    for _ in range(9):
        used = [time.thread_time()]
        for problem in problems:
            problem.evaluate_genes(genes)
            used.append(time.thread_time())
        ratios.append((used[2] - used[1]) / (used[1] - used[0]))
    assert np.median(ratios[1:]) <= 8
