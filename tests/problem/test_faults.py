"""Goodput: laws that it meets, spares, and that every way to a design has the same figures."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from effort import costly
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import lambertw

from evo_libra import certify, load_problem, search
from evo_libra.arrays import Population
from evo_libra.errors import InputError
from evo_libra.explain.as_json import as_json
from evo_libra.explain.design_record import design_record
from evo_libra.explain.explain import explain
from evo_libra.explain.fault_report import fault_report
from evo_libra.explain.prices import price_front
from evo_libra.explain.reason_sheet import evaluated
from evo_libra.explain.rescore import rescore
from evo_libra.front.archive import non_dominated
from evo_libra.front.front import Front
from evo_libra.network.blocks import ITEMS
from evo_libra.network.blocks.blast import STATED
from evo_libra.network.blocks.conformance import sample_kit
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.network.blocks.switch import switches, tiers
from evo_libra.network.catalog.failures import FAILING, load_failure_specs
from evo_libra.network.fabric import parse_fabric
from evo_libra.optimality.whole_designs import networks_of
from evo_libra.optimality.whole_ports import whole_ideal
from evo_libra.problem.designs import genes_of, violations
from evo_libra.problem.faults import best_interval
from evo_libra.problem.problem import Problem

FABRIC = "fabric={catalog: parts-2024, technologies: [nvlink4, optics-400g], max_dimensions: 3, domains: any}"
PARTS = ("npus=512", FABRIC, "bandwidth=ports")
USUAL: dict[str, Any] = {"checkpoint_s": 20, "restart_s": 300, "spares": [0, 16, 64]}
SHARE = "objectives=[time, cost, goodput, useful-share]"
RATES = st.dictionaries(st.sampled_from(FAILING), st.floats(0, 20), max_size=4)
SEEDS = st.integers(0, 2**32 - 1)


def failures(problem: Problem, population: Population) -> dict[str, Any]:
    """Return the failures of a design as plain data."""
    found: dict[str, Any] = as_json(fault_report(problem, population))
    return found


@cache
def _loaded(name: str, changes: tuple[str, ...]) -> Problem:
    found = load_problem(name, changes)
    assert isinstance(found, Problem)
    return found


def load(*changes: str, faults: dict[str, Any] | None = USUAL, name: str = "gpt3-4k") -> Problem:
    more = () if faults is None else (f"faults={json.dumps(faults)}",)
    return _loaded(name, (*PARTS, *changes, *more))


def failing(**changes: Any) -> Problem:
    """Return the usual problem with other failures; rates are those per year."""
    problem = load(SHARE)
    assert problem.sources.faults is not None
    rates = {"per_year": {}, "repair_h": {}}
    faults = problem.sources.faults.model_copy(update=rates | changes)
    return replace(problem, sources=replace(problem.sources, faults=faults))


def goodput(problem: Problem, seed: int, count: int = 40) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return useful iterations per second of random designs, the same for problems that differ in rates."""
    genes = problem.genome.sample(np.random.default_rng(seed), count)
    return 1.0 / problem.evaluate_genes(genes).objectives[[o.name for o in problem.objectives].index("goodput")]


@pytest.mark.slow
@costly(25)
@given(rates=RATES, kind=st.sampled_from(FAILING), factor=st.floats(1.01, 100), seed=SEEDS)
def test_goodput_falls_with_every_failure_rate(rates: dict[str, float], kind: str, factor: float, seed: int) -> None:
    rate = rates.get(kind, 0.1)
    low, high = (goodput(failing(per_year={**rates, kind: each}), seed) for each in (rate, rate * factor))
    assert (high <= low * (1 + 1e-12)).all()
    if kind in ("npu", "host") and rate > 1e-3 and (low > 1e-9).any():
        assert (high < low)[low > 1e-9].all()


@pytest.mark.slow
@costly(15)
@given(rates=RATES, seed=SEEDS)
def test_goodput_rises_with_spares_and_never_beats_the_ideal(rates: dict[str, float], seed: int) -> None:
    each = [goodput(failing(spares=(spares,) * 3, per_year=rates), seed, 20) for spares in (1, 64, 2048)]
    assert (each[0] <= each[1] * (1 + 1e-12)).all()
    assert (each[1] <= each[2] * (1 + 1e-12)).all()
    problem = failing(spares=(2048,) * 3, per_year=rates)
    genes = problem.genome.sample(np.random.default_rng(seed), 20)
    ideal = problem.evaluate_genes(genes).objectives[0]
    assert (each[2] <= 1.0 / ideal * (1 + 1e-12)).all()


@pytest.mark.slow
@settings(max_examples=15)
@given(rates=RATES, kind=st.sampled_from(FAILING), seed=SEEDS)
def test_what_never_fails_may_take_any_time_to_repair(rates: dict[str, float], kind: str, seed: int) -> None:
    none = failing(per_year={**rates, kind: 0})
    slow = failing(per_year={**rates, kind: 0}, repair_h={kind: 999})
    np.testing.assert_array_equal(goodput(none, seed), goodput(slow, seed))


def test_parts_that_a_network_lacks_do_not_count() -> None:
    usual, ocs = load(SHARE), load(SHARE, faults={**USUAL, "per_year": {"ocs": 1e5}})
    design = "SW(8)@nvlink4:450_CL(64)@optics-400g:50 spares=16"
    np.testing.assert_array_equal(usual.evaluate(design).objectives, ocs.evaluate(design).objectives)


def test_without_failures_all_time_is_useful() -> None:
    none = dict.fromkeys(FAILING, 0.0) | dict.fromkeys(_own_rates(), 0.0)
    never = {**USUAL, "per_year": none}
    problem = load(SHARE, faults=never)
    found = problem.evaluate("SW(8)@nvlink4:450_CL(64)@optics-400g:50").objectives[:, 0]
    assert found[3] == pytest.approx(1.0, abs=1e-9)
    report = failures(problem, problem.read("SW(8)@nvlink4:450_CL(64)@optics-400g:50"))
    assert report["interruptions_per_day"] == 0
    assert report["dominant_part"] is report["dominant_loss"] is report["checkpoint_interval_s"] is None
    # With an interval that the file gives, checkpoints are written all the same.
    given_interval = load(SHARE, faults={**never, "interval_s": 80})
    assert given_interval.evaluate("SW(8)@nvlink4:450_CL(64)@optics-400g:50").objectives[3, 0] == pytest.approx(1.25)


def _own_rates() -> list[str]:
    names = [part.name for part in _parts()]
    return [name for name in load_failure_specs() if name in names]


def _parts() -> list[Any]:
    from evo_libra.network.bill import parts_of  # noqa: PLC0415 - of one helper
    from evo_libra.problem.pricing.catalog import kits_of  # noqa: PLC0415 - the same

    return list(parts_of(kits_of(load(SHARE).catalog)).values())


@given(st.floats(1e-12, 3))
def test_the_best_interval_is_that_of_dalys_model(written: float) -> None:
    """Against Lambert's W, which solves ``exp(work + written) (1 - work) = 1``."""

    def kept(work: float) -> float:
        return float(work / np.expm1(work + written))

    exact = float(1.0 + lambertw(-np.exp(-written - 1.0)).real)
    if exact > 1e-6:
        assert kept(best_interval(np.array([written]))[0]) == pytest.approx(kept(exact), rel=1e-12)


@pytest.mark.slow
@settings(max_examples=20)
@given(interval=st.floats(1, 1e6), seed=SEEDS)
def test_no_interval_is_better_than_the_best_one(interval: float, seed: int) -> None:
    best, fixed = load(SHARE), failing(interval_s=interval)
    assert (goodput(fixed, seed) <= goodput(best, seed) * (1 + 1e-12)).all()


@pytest.mark.slow
@pytest.mark.parametrize("changes", [
    (), ("fabric.blocks=[ring, switch, fat-tree, ocs-rail]",),
    ("fabric.technologies=[nvlink4, ici-v4, copper-400g, optics-400g]", "fabric.max_dimensions=2"),
    ("time={model: astra, latency_ns: 500}", "fabric.max_dimensions=2"),
])  # fmt: skip
def test_genes_designs_and_text_have_the_same_figures(changes: tuple[str, ...]) -> None:
    problem = load(SHARE, *changes)
    genes = problem.genome.sample(np.random.default_rng(1), 60)
    found, designs = problem.evaluate_genes(genes), problem.decode(genes)
    np.testing.assert_array_equal(problem.evaluate(designs).objectives, found.objectives)
    texts = [str(fabric) for fabric in problem.fabrics(designs)]
    assert {parse_fabric(text).spares for text in texts} == {0, 16, 64}
    np.testing.assert_array_equal(problem.evaluate(texts).objectives, found.objectives)
    np.testing.assert_array_equal(problem.decode(genes_of(problem, designs)).spares, designs.spares)
    assert problem.describe(genes)["spares"] == [parse_fabric(text).spares for text in texts]


@settings(max_examples=15)
@given(seed=SEEDS)
def test_the_report_adds_up_to_the_objective(seed: int) -> None:
    problem = load(SHARE)
    genes = problem.genome.sample(np.random.default_rng(seed), 1)
    report = failures(problem, problem.decode(genes))
    assert sum(report["time_shares"].values()) == pytest.approx(1.0, abs=1e-9)
    assert all(share >= 0 for share in report["time_shares"].values())
    useful = 1.0 / problem.evaluate_genes(genes).objectives[3, 0]
    assert max(report["time_shares"]["useful"], 1e-12) == pytest.approx(useful, rel=1e-9)
    stops = sum(row["interruptions_per_day"] for row in report["parts"])
    assert stops == pytest.approx(report["interruptions_per_day"])


def test_spares_cost_and_draw_as_much_network_as_npus_at_work() -> None:
    problem = load("objectives=[time, cost, power, goodput]")
    design = "SW(8)@nvlink4:450_CL(64)@optics-400g:50"
    without, with_ = (problem.evaluate(text).objectives[:, 0] for text in (design, f"{design} spares=64"))
    assert with_[0] == without[0]
    assert with_[1:3] == pytest.approx(without[1:3] * (1 + 64 / 512), rel=1e-12)
    assert with_[3] < without[3]
    spares = explain(problem, problem.read(f"{design} spares=64"))["faults"]["spares"]
    assert (spares["npus"], spares["unit_npus"], spares["units"]) == (64, 8, 8)
    assert spares["cost_usd"] + without[1] == pytest.approx(with_[1], rel=1e-12)
    assert spares["power_W"] + without[2] == pytest.approx(with_[2], rel=1e-12)


def test_spare_npus_are_bought_too() -> None:
    faults = f"faults={json.dumps(USUAL)}"
    changes = ("objectives=[time, cost, system-cost, goodput]", "npu=h100-80gb", faults)
    problem = _loaded("gpt3-4k", (*PARTS, *changes))
    design = "SW(8)@nvlink4:450_CL(64)@optics-400g:50"
    without, with_ = (problem.evaluate(text).objectives[:, 0] for text in (design, f"{design} spares=64"))
    assert problem.sources.npu.price is not None
    npus = float(problem.sources.npu.price[0])
    assert with_[2] - without[2] == pytest.approx(64 * npus + with_[1] - without[1], rel=1e-9)


def test_spares_take_no_place_in_a_ring_of_nodes() -> None:
    problem = load(SHARE)
    ring = "SW(8)@nvlink4:450_RI(64)@optics-400g:100"
    figures = problem.evaluate([ring, f"{ring} spares=64"]).objectives
    assert figures[3, 0] == figures[3, 1]
    assert failures(problem, problem.read(f"{ring} spares=64"))["spares"]["units"] == 0


def test_prices_are_of_the_spares_too() -> None:
    problem = load("objectives=[time, cost, goodput]")
    design = "SW(8)@nvlink4:450_CL(64)@optics-400g:50"
    frame = pl.DataFrame({"id": [0, 1], "time_ms": [1.0, 2.0], "design": [design, f"{design} spares=64"]})
    found = price_front(Front(frame, ("time_ms",)), problem, drawn=5, seed=0).frame
    cost = problem.evaluate([design, f"{design} spares=64"]).objectives[1]
    np.testing.assert_allclose(found["cost_value_usd"].to_numpy(), cost, rtol=1e-12)


def test_goodput_is_an_objective_over_scenarios_too() -> None:
    weight = "workloads[0].weight={low: 0.5, value: 1, high: 2}"
    problem = load("objectives=[goodput.p95, cost.p95, time.p95, goodput]", weight)
    designs = ["SW(8)@nvlink4:450_CL(64)@optics-400g:50", "SW(8)@nvlink4:450_CL(64)@optics-400g:50 spares=64"]
    robust = problem.evaluate(designs).objectives
    plain = load("objectives=[goodput, useful-share]").evaluate(designs).objectives
    # The share is the same in every scenario of weights, and spares cost their part in every scenario of prices.
    np.testing.assert_allclose(robust[0] / robust[2], plain[1], rtol=1e-12)
    assert robust[1, 1] == pytest.approx(robust[1, 0] * (1 + 64 / 512), rel=1e-12)
    with pytest.raises(InputError, match=r"useful-share\.p95"):
        load("objectives=[useful-share.p95]")


def test_rescored_designs_keep_their_spares() -> None:
    both = ("objectives=[time, cost, goodput]", "fabric.max_dimensions=2")
    problem, again = load(*both), load(*both, "time={model: astra, latency_ns: 500}")
    front = search(problem, evaluations=1300)
    found = rescore(front, again).frame
    share = again.evaluate(found["design"].to_list()).objectives
    np.testing.assert_allclose(found["useful_iteration_ms_rescored"].to_numpy(), share[2] * 1e3, rtol=1e-12)
    assert any("spares=" in design for design in found["design"])
    # The share is that of the parts, whatever the time model.
    before = found["useful_iteration_ms"] / found["time_ms"]
    after = found["useful_iteration_ms_rescored"] / found["time_ms_rescored"]
    np.testing.assert_allclose(before.to_numpy(), after.to_numpy(), rtol=1e-9)


def test_bandwidths_that_are_solved_for_have_parts_in_any_fraction() -> None:
    problem = _loaded("gpt3-4k", (*PARTS[:2], "bandwidth=optimal", SHARE, f"faults={json.dumps(USUAL)}"))
    genes = problem.genome.sample(np.random.default_rng(0), 50)
    found = problem.evaluate_genes(genes)
    assert np.isfinite(found.objectives).all()
    assert (found.objectives[2] >= found.objectives[0]).all()
    assert sum(failures(problem, problem.decode(genes))["time_shares"].values()) == pytest.approx(1.0)


LIMIT = ("constraints=[useful-share >= 90 %]", "objectives=[time, cost]")


@pytest.mark.slow
def test_a_constraint_on_the_useful_share_needs_spares() -> None:
    problem = load(*LIMIT)
    front = search(problem, evaluations=2600)
    assert len(front)
    designs = front.frame["design"].to_list()
    assert all(parse_fabric(design).spares for design in designs)
    share = load(*LIMIT, "objectives=[useful-share]").evaluate(designs).objectives[0]
    assert (1 / share >= 0.9 * (1 - 1e-9)).all()
    bare = "SW(8)@nvlink4:450_CL(64)@optics-400g:50"
    assert violations(problem, problem.read(f"{bare} spares=64")) == []
    assert "of 90 %" in violations(problem, problem.read(bare))[0]
    assert violations(load("constraints=[goodput >= 1 iteration/h]"), load().read(f"{bare} spares=64")) == []


@pytest.mark.slow
def test_proofs_are_of_designs_with_spares() -> None:
    """Where every design of whole ports is looked at, none that keeps the limit beats what is proven."""
    problem = load(*LIMIT)
    front = search(problem, evaluations=2600)
    proof = certify(problem, front)
    assert proof.networks > 0
    assert (proof.factor >= 1).all()
    cost, time = (front.frame[column].to_numpy() * scale for column, scale in (("cost_usd", 1.0), ("time_ms", 1e-3)))
    mine, free = (
        whole_ideal(one, np.empty(0), np.empty(0)) for one in (problem, load("constraints=[]", *LIMIT[1:], faults=None))
    )
    assert mine is not None
    assert free is not None
    assert (time >= mine.at(cost) * (1 - 1e-9)).all()
    # What keeps the limit pays for spares.
    assert (mine.at(free.cost) >= free.time * (1 - 1e-9)).all()
    assert (mine.at(free.cost) > free.time).any()


SMALL = ("npus=64", "fabric.max_dimensions=2", "workloads[0].parallelism.tp=8")


@pytest.mark.slow
@pytest.mark.parametrize("objectives", ["[time, cost]", "[goodput, cost]", "[time, cost, useful-share]"])
def test_exhaustive_finds_the_front_of_every_design_with_every_number_of_spares(objectives: str) -> None:
    problem = load(*SMALL, f"objectives={objectives}", "constraints=[useful-share >= 60 %]")
    front = search(problem, engine="exhaustive").frame
    points = []
    for structure, bandwidth in networks_of(problem):
        gene = np.zeros(bandwidth.shape, dtype=np.int64)
        built = problem.pricing.topologies(structure, gene)
        for spares in (0, 16, 64):
            each = np.full(len(structure), spares)
            designs = Population(built.npus, built.block, built.technology, bandwidth, spares=each)
            found = problem.evaluate(designs)
            points.append(found.objectives[:, found.violation <= 0])
    every = np.concatenate(points, axis=1)
    ours = np.stack([front[o.column].to_numpy() * o.scale for o in problem.objectives])
    assert len(front)
    # No design beats one of the front, and each other one is beaten, to the digits that rounding leaves.
    assert all(not (every < point[:, None] * (1 - 1e-9)).all(axis=0).any() for point in ours.T)
    best = every[:, non_dominated(every)]
    assert all((ours <= point[:, None] * (1 + 1e-9)).all(axis=0).any() for point in best.T)


def test_exhaustive_takes_one_number_of_spares_where_it_cannot_look_at_each_design() -> None:
    fractions = ("bandwidth=optimal", "objectives=[time, cost]")
    with pytest.raises(InputError, match="chooses spares where it evaluates each design"):
        search(load(*fractions), engine="exhaustive")
    more = load("bandwidth=optimal", "objectives=[time, cost, goodput]", faults={**USUAL, "spares": 16})
    with pytest.raises(InputError, match="has goodput, too"):
        search(more, engine="exhaustive")
    with pytest.raises(InputError, match="minimises something else"):
        certify(load("objectives=[time, goodput]"), Front(pl.DataFrame(), ("time_ms", "useful_iteration_ms")))


@pytest.mark.parametrize(("changes", "faults", "words"), [
    (("objectives=[time, goodput]",), None, "goodput needs the key 'faults'"),
    (("constraints=[useful-share >= 90 %]",), None, "useful-share needs the key 'faults'"),
    (("fabric={catalog: libra}", "bandwidth=search", "npus=4096"), USUAL, "failures are of parts"),
    ((), {**USUAL, "per_year": {"swich": 1}}, "did you mean 'switch'"),
    ((), {**USUAL, "repair_h": {"npu": -1}}, "a number of at least 0 is needed"),
    ((), {"restart_s": 1}, "checkpoint_s"),
    (("constraints=[useful-share >= 90 GB]",), USUAL, "allowed: %"),
])  # fmt: skip
def test_mistakes_are_met_at_the_border(changes: tuple[str, ...], faults: dict[str, Any] | None, words: str) -> None:
    with pytest.raises(InputError) as error:
        load(*changes, faults=faults)
    assert words in str(error.value)


def test_spares_of_designs_are_checked() -> None:
    bare = "SW(8)@nvlink4:450_CL(64)@optics-400g:50"
    with pytest.raises(InputError, match="no key 'faults'"):
        load(faults=None).evaluate(f"{bare} spares=8")
    for wrong in ("spares=-1", "spares=a", "spares=8 spares=8", "spares=8.5"):
        with pytest.raises(InputError, match="one whole number of spare NPUs"):
            parse_fabric(f"{bare} {wrong}")
    with pytest.raises(InputError, match="did you mean 'spares'"):
        parse_fabric(f"{bare} spare=8")
    assert str(parse_fabric(f"{bare} chunks=4 npu=a spares=8 | tp8")) == f"{bare} chunks=4 npu=a spares=8 | tp8"


def test_a_fat_tree_of_three_tiers_loses_what_its_pieces_carry() -> None:
    """The parts of a port's network that are lost, piece by piece: half = 8 ports up and down, 64 NPUs to a pod."""
    block = next(block for block in BLOCKS if block.name == "switch")
    kit, npus = sample_kit(block), np.array([512])
    assert tiers(npus, kit.radix)[0] == 3
    counts, blast = block.counts(npus, kit).relaxed[:, 0], block.blast(npus, kit)
    leaves, cores, half = 64, 32, 8
    assert counts[ITEMS.index("switch")] == switches(npus, kit.radix)[0] == 2 * leaves + cores
    lost = {item: counts[ITEMS.index(item)] * blast.slowed[row, 0] for row, item in enumerate(STATED)}
    assert lost["uplink"] == pytest.approx(512 / half + 512 / half**2)
    assert lost["switch"] == pytest.approx(leaves / half + cores / cores)
    assert counts[ITEMS.index("switch")] * blast.many[STATED.index("switch"), 0] == pytest.approx(leaves)


@pytest.mark.parametrize("name", ["switch-4", "fat-tree-2", "switch-1-7"])
def test_an_oversubscribed_tree_has_its_own_uplinks_and_pods(name: str) -> None:
    """All uplinks of a leaf together carry the leaf, all of a pod the pod, and all cores everything."""
    block = next(block for block in BLOCKS if block.name == name)
    kit, npus = sample_kit(block), np.array([512])
    inside = np.array([1])
    counts, blast = block.counts(npus, kit, inside).relaxed[:, 0], block.blast(npus, kit, inside)
    leaves, pods = (int(getattr(block, what)(npus, kit, inside)[0]) for what in ("leaves", "pods"))
    lost = {item: counts[ITEMS.index(item)] * blast.slowed[row, 0] for row, item in enumerate(STATED)}
    assert lost["uplink"] == pytest.approx(leaves + pods)
    assert lost["switch"] == pytest.approx(1 + pods)
    assert counts[ITEMS.index("switch")] * blast.many[STATED.index("switch"), 0] == pytest.approx(leaves)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.name)
def test_every_block_states_a_blast_radius(block: Any) -> None:
    kit = sample_kit(block)
    npus = np.arange(2, 400)
    npus = npus[block.allowed(npus, kit)]
    blast, counts = block.blast(npus, kit), block.counts(npus, kit).relaxed[[ITEMS.index(item) for item in STATED]]
    for array in (blast.one, blast.many, blast.slowed):
        assert array.shape == counts.shape
        assert (array >= 0).all()
    assert ((blast.one + blast.many) <= 1 + 1e-12).all()
    # Every piece that is bought does something.
    assert ((blast.one + blast.many + blast.slowed)[counts > 0] > 0).all()
    alone = block.blast(npus[-1:], kit)
    np.testing.assert_allclose(alone.slowed[:, 0], blast.slowed[:, -1])


def test_short_cables_fail_as_long_ones_do_and_transceivers_with_what_they_end() -> None:
    changes = ("fabric={catalog: products-2025, technologies: [nvlink4, infiniband-ndr], max_dimensions: 2}",)
    problem = load(*changes, SHARE)
    report = failures(problem, problem.read("SW(8)@nvlink4:450_CL(64)@infiniband-ndr:50"))
    rows = {row["part"]: row for row in report["parts"]}
    assert rows["dac-400g"]["interruptions_per_day"] > 0
    bill = {(row["item"], row["part"]): row["pieces"] for row in problem.pricing.bill(
        problem.read("SW(8)@nvlink4:450_CL(64)@infiniband-ndr:50"))}  # fmt: skip
    short, ends = bill["short link", "dac-400g"], bill["transceiver", "optics-400g"]
    rate = problem.sources.faults.failures if problem.sources.faults else None
    assert rate is not None
    per_day = rate.named("link").rate * 86400
    # A short uplink only takes bandwidth; of optics, those at links of NPUs stop the job.
    assert rows["dac-400g"]["interruptions_per_day"] == pytest.approx(short * per_day)
    at_links = 2 * bill.get(("link", "fibre"), 0)
    stops = at_links * rate.named("transceiver").rate * 86400
    assert rows["optics-400g"]["interruptions_per_day"] == pytest.approx(stops)
    assert ends >= at_links


def test_every_rate_has_a_source_and_a_year() -> None:
    specs = load_failure_specs()
    assert set(FAILING) <= set(specs)
    for name, spec in specs.items():
        assert len(spec.source) > 20, name
        assert 2011 <= spec.year <= 2026, name


def test_rates_of_parts_are_those_of_their_kind_unless_they_have_their_own() -> None:
    problem = load(SHARE, faults={**USUAL, "per_year": {"link": 1.0, "fibre": 2.0}, "repair_h": {"switch-400g": 1}})
    design = "SW(8)@nvlink4:450_CL(64)@optics-400g:50"
    rows = {row["part"]: row for row in failures(problem, problem.read(design))["parts"]}
    assert rows["fibre"]["failures_per_day"] * 365.25 / rows["fibre"]["pieces"] == pytest.approx(2.0)
    assert "nvlink4-link" not in rows
    usual = failures(load(SHARE), load(SHARE).read(design))["parts"]
    slow = {row["part"]: row["share_waited_for"] for row in usual}
    assert rows["switch-400g"]["share_waited_for"] == pytest.approx(slow["switch-400g"] / 12, rel=0.01)


CUTS = ("SW(8)@nvlink4:450_CL(512)@optics-400g:50", "SW(8)@nvlink4:450_SW(8)@optics-400g:50_SW(64)@optics-400g:50")
"""Servers of 8, whose network is cut once and twice."""


def test_spares_are_servers_however_their_network_is_cut() -> None:
    """0.28 servers of 512 are in repair in the mean: with 5 spare ones, enough are there for 99 % of the time."""
    problem = load_problem("moe-4k", ["faults={checkpoint_s: 10, restart_s: 600}", "objectives=[goodput, cost]"])
    assert isinstance(problem, Problem)
    assert problem.sources.spares[0] == 40
    whole, twice = (fault_report(problem, problem.read(design)) for design in CUTS)
    assert whole is not None
    assert twice is not None
    assert (whole.spares.npus, whole.spares.unit_npus, whole.spares.units) == (40, 8, 5)
    assert (twice.spares.npus, twice.spares.unit_npus, twice.spares.units) == (40, 8, 5)
    assert problem.evaluate(list(CUTS)).violation.tolist() == [0.0, 0.0]
    assert fault_report(problem, problem.read(f"{CUTS[0]} spares=0")) is not None


def test_the_spares_that_useful_shares_need_are_the_fewest() -> None:
    changes = ["faults={checkpoint_s: 10, restart_s: 600, spares: [0, 24, 32, 40, 48]}", "objectives=[goodput, cost]"]
    problem = load_problem("moe-4k", changes)
    assert isinstance(problem, Problem)
    found = fault_report(problem, problem.read(CUTS[0]))
    assert found is not None
    needed = found.spares.needed["95"]
    assert needed is not None
    shares = [
        float(np.ravel(problem.measure(problem.read(f"{CUTS[0]} spares={8 * units}"), timed=False).useful)[0])
        for units in (needed - 1, needed, 100)
    ]
    assert shares[0] < 0.95 <= shares[1]
    assert found.spares.needed["99"] is None
    assert shares[2] == pytest.approx(found.spares.most_useful, rel=1e-6)
    record = design_record(problem, CUTS[0])
    text = " ".join(str(part) for one in evaluated(record) for part in one.parts)
    assert f"spare units of 8 NPUs that keep time useful: {needed} for 95 %" in text
    assert "no number of spares keeps 99 % of the time useful" in text


CLOSED = "SW(8)@nvlink4:450_SW(64)@optics-400g:50"
"""A network of a problem whose plan is stated, so that nothing is after a bar."""


@pytest.mark.parametrize("changes", [(), ("faults={checkpoint_s: 30, restart_s: 300}",)])
@pytest.mark.parametrize("plans", ["spares=2", "tp8 spares=2"])
def test_spares_after_the_bar_say_where_they_go(changes: tuple[str, ...], plans: str) -> None:
    with pytest.raises(InputError) as found:
        _loaded("moe-4k", ("npus=512", *changes)).read(f"{CLOSED} | {plans}")
    assert str(found.value) == (
        f"'spares=2' in the design '{CLOSED} | {plans}' is after the bar, where only plans are; an option goes before "
        f"the bar, after the network, like {CLOSED} spares=2"
    )


def test_spares_without_failures_say_what_is_missing() -> None:
    with pytest.raises(InputError) as found:
        _loaded("moe-4k", ("npus=512",)).read(f"{CLOSED} spares=2")
    assert str(found.value) == (
        f"the design '{CLOSED} spares=2' has spares=2, and the problem has no key 'faults', which says what fails; "
        "leave spares out, or add the key"
    )
