"""Plans as genes: what genes decode to, how plans are written, and the figures of a problem file that pins one."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from effort import costly
from hypothesis import given
from hypothesis import strategies as st

from evo_libra import load_problem, search
from evo_libra.errors import InputError
from evo_libra.explain.explain import explain
from evo_libra.problem.designs import genes_of, violations
from evo_libra.problem.problem import Problem
from evo_libra.problem.sections.workload import PlanGenes
from evo_libra.validation.training import training_rows
from evo_libra.workload.plans.plan_rules import plan_mistakes
from evo_libra.workload.plans.plan_table import PlanTable
from evo_libra.workload.plans.recomputation import RECOMPUTE

EXACT = 1e-12
SEEDS = st.integers(0, 2**32 - 1)
DENSE = {
    "kind": "decoder", "layers": 8, "hidden": 2048, "heads": 16, "kv_heads": 4, "feed_forward": 5632, "gated": True,
    "vocabulary": 32000,
}  # fmt: skip
ROUTED = {**DENSE, "experts": {"count": 8, "per_token": 2, "feed_forward": 2816}}
FLAGS = (False, True, [False, True])
ORDERS = [["tp", "cp", "dp", "pp"], ["tp", "pp", "cp", "dp"], ["cp", "tp", "pp", "dp"]]


def data_of(training: dict[str, Any], parallelism: dict[str, Any], **changes: Any) -> dict[str, Any]:
    generator = ROUTED if "ep" in parallelism else DENSE
    workload = {
        "name": "small", "generator": generator, "parallelism": parallelism,
        "training": {"sequence": 4096, "global_batch": 128, **training},
    }  # fmt: skip
    fabric = {
        "catalog": "parts-2024", "technologies": ["nvlink4", "optics-400g"], "max_dimensions": 3,
        "blocks": ["switch", "ring"],
    }  # fmt: skip
    return {
        "name": "planned", "npus": 64, "npu": "h100-80gb", "fabric": fabric, "workloads": [workload],
        "bandwidth": "ports", "objectives": ["time", "cost"], **changes,
    }  # fmt: skip


def problem_of(folder: Path, data: dict[str, Any]) -> Problem:
    (folder / "p.yaml").write_text(json.dumps(data))
    found = load_problem(str(folder / "p.yaml"))
    assert isinstance(found, Problem)
    return found


def random_data(random: np.random.Generator, **changes: Any) -> dict[str, Any]:
    def some(*options: Any) -> Any:
        return options[random.integers(0, len(options))]

    routed = bool(random.random() < 0.5)
    training = {
        "micro_batch": some(1, [1, 2], "any"),
        "zero": some(1, [0, 1, 2, 3]),
        "precision": some("bf16", ["bf16", "fp8"]),
        "recompute": some("none", ["none", "selective", "full"]), "order": some(ORDERS[0], ORDERS),
        "sequence_parallel": some("auto", *FLAGS),
        "overlap": {name: some(*FLAGS) for name in ("tp", "pp", "dp")},
    }  # fmt: skip
    parallelism = {
        "tp": some([1, 2, 4], "any"), "cp": some(1, [1, 2]), "pp": some(1, [1, 2, 4], "any"), "vp": some(1, "any"),
        **({"ep": some(1, [1, 2, 8], "any")} if routed else {}),
    }  # fmt: skip
    return data_of(training, parallelism, **changes)


def pinned(data: dict[str, Any], problem: Problem, plan: int) -> dict[str, Any]:
    """Return the problem with one of its plans written out."""
    table = problem.time.tables[0]
    plans, workload = table.plans, data["workloads"][0]
    value = {name: int(getattr(plans, name)[plan]) for name in ("tp", "cp", "pp", "vp", "ep", "micro_batch", "zero")}
    training = {
        **workload["training"], "micro_batch": value.pop("micro_batch"), "zero": value.pop("zero"),
        "recompute": RECOMPUTE[int(plans.recompute[plan])], "order": list(table.orders[table.order[plan]]),
        "precision": table.setups[table.setup[plan]].precision,
        "sequence_parallel": bool(plans.sequence_parallel[plan]),
        "overlap": {name: bool(getattr(plans, f"overlap_{name}")[plan]) for name in ("tp", "pp", "dp")},
    }  # fmt: skip
    return {**data, "workloads": [{**workload, "training": training, "parallelism": value}]}


@given(SEEDS)
@costly(25)
def test_any_genes_are_a_plan_that_divides_fits_and_is_written_exactly(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    random = np.random.default_rng(seed)
    problem = problem_of(tmp_path_factory.mktemp("plans"), random_data(random))
    table = problem.time.tables[0]
    assert len(set(table.texts)) == len(table)
    genes = problem.genome.sample(random, 40)
    designs = problem.decode(genes)
    for place in np.unique(designs.plans[0]).tolist():
        one = table.plans.select(np.array([place]))
        assert not list(plan_mistakes(table.setups[table.setup[place]], one))
        assert int((one.tp * one.cp * one.pp * one.dp)[0]) == 64
        assert table.memory[place] <= table.capacity[place]
        assert table.find(" ".join(reversed(table.texts[place].split()))) == place
    texts = list(map(str, problem.fabrics(designs)))
    kept = problem.time.fits(designs.npus, designs.plan, designs.technology)
    read = problem.read([text for text, fits in zip(texts, kept, strict=True) if fits])
    np.testing.assert_array_equal(read.plans, designs.plans[:, kept])
    again = problem.evaluate_genes(genes_of(problem, read))
    first = problem.evaluate_genes(genes)
    np.testing.assert_allclose(again.objectives, first.objectives[:, kept], rtol=1e-9)
    np.testing.assert_allclose(problem.evaluate(read).objectives, first.objectives[:, kept], rtol=EXACT)


def lying(table: PlanTable, plan: int, order: tuple[str, ...]) -> tuple[str, ...]:
    """Return the groups of a plan that have more than one NPU, in an order."""
    return tuple(group for group in order if table.degrees[group][plan] > 1)


def uneven_data(random: np.random.Generator, **changes: Any) -> dict[str, Any]:
    """Return random plans of degrees with several prime factors in several orders of their groups."""
    every = list(itertools.permutations(("tp", "cp", "dp", "pp")))
    orders = [list(every[place]) for place in random.choice(len(every), random.integers(2, 6))]
    data = random_data(random, **changes)
    workload = data["workloads"][0]
    generator = {**workload["generator"], "heads": 24, "kv_heads": 24, "hidden": 3072}
    training = {**workload["training"], "global_batch": 192, "order": orders, "sequence_parallel": False}
    parallelism = {**workload["parallelism"], "tp": [1, 2, 3, 6], "pp": [1, 2, 4]}
    return {
        **data, "npus": 96,
        "workloads": [{**workload, "generator": generator, "training": training, "parallelism": parallelism}],
    }  # fmt: skip


@pytest.mark.slow
@given(SEEDS)
@costly(20, part=20)
def test_plans_that_differ_in_order_alone_lie_in_another_order(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    data = uneven_data(np.random.default_rng(seed))
    table = problem_of(tmp_path_factory.mktemp("orders"), data).time.tables[0]
    others = [values for name, values in table.options.items() if name != "order"]
    alike = [
        (*(int(values[plan]) for values in others), lying(table, plan, table.orders[table.order[plan]]))
        for plan in range(len(table))
    ]
    assert len(set(alike)) == len(table)
    orders = [tuple(order) for order in data["workloads"][0]["training"]["order"]]
    for plan in range(len(table)):
        mine = table.orders[table.order[plan]]
        assert mine == next(order for order in orders if lying(table, plan, order) == lying(table, plan, mine))
    genes = PlanGenes(table, 0)
    fitting = np.flatnonzero(genes.fitting)
    codes = genes.codes(fitting)
    np.testing.assert_array_equal(genes.nearest(codes, table.npu[fitting]), fitting)
    for code, order in enumerate(np.unique(table.order[fitting]) if "order" in genes.axes else ()):
        alike = [lying(table, plan, orders[order]) == lying(table, plan, orders[table.order[plan]]) for plan in fitting]
        codes[list(genes.axes).index("order")] = code
        found = genes.nearest(codes[:, alike], table.npu[fitting[alike]])
        np.testing.assert_array_equal(found, fitting[alike])


@pytest.mark.slow
@given(SEEDS, st.sampled_from(["libra", "astra"]))
@costly(20)
def test_a_plan_of_any_order_is_the_one_that_lies_alike_and_takes_its_time(
    tmp_path_factory: pytest.TempPathFactory, seed: int, model: str
) -> None:
    random, folder = np.random.default_rng(seed), tmp_path_factory.mktemp("alike")
    time = {"model": model} if model == "libra" else {"model": model, "chunks": 4}
    data = uneven_data(random, time=time)
    problem = problem_of(folder, data)
    table = problem.time.tables[0]
    designs = problem.decode(problem.genome.sample(random, 6))
    for n in np.flatnonzero(problem.time.fits(designs.npus, designs.plan, designs.technology)).tolist():
        plan = int(designs.plans[0, n])
        order = table.orders[random.integers(len(table.orders))]
        text = table.texts[plan].replace("-".join(table.orders[table.order[plan]]), "-".join(order))
        found = table.find(text)
        assert lying(table, found, table.orders[table.order[found]]) == lying(table, plan, order)
        kept = problem.time.fits(designs.npus, np.full((1, len(designs)), found), designs.technology)
        if not kept.any():
            continue  # in that order the tensor parallel group leaves every scale-up domain
        written = pinned(data, problem, plan)
        written["workloads"][0]["training"]["order"] = list(order)
        alone = problem_of(folder, written)
        networks = replace(designs.select(kept), plan=None)
        expected = alone.time(networks)
        seconds = problem.time(replace(networks, plan=np.full((1, len(networks)), found)))
        np.testing.assert_allclose(seconds, expected, rtol=EXACT)


@pytest.mark.slow
@given(SEEDS, st.sampled_from(["libra", "astra", "themis"]))
@costly(25)
def test_a_plan_has_the_figures_of_a_problem_that_pins_it(
    tmp_path_factory: pytest.TempPathFactory, seed: int, model: str
) -> None:
    random, folder = np.random.default_rng(seed), tmp_path_factory.mktemp("pinned")
    time = {"model": model} if model == "libra" else {"model": model, "chunks": 4}
    data = random_data(random, time=time, objectives=["time", "cost", "memory", "energy-per-token"])
    problem = problem_of(folder, data)
    designs = problem.decode(problem.genome.sample(random, 6))
    fits = problem.time.fits(designs.npus, designs.plan, designs.technology)
    for n in np.flatnonzero(fits).tolist():
        one = designs.select([n])
        alone = problem_of(folder, pinned(data, problem, int(one.plans[0, 0])))
        text = str(problem.fabrics(one)[0]).partition(" | ")[0]
        expected = alone.evaluate(text)
        found = problem.evaluate(one)
        np.testing.assert_allclose(found.objectives, expected.objectives, rtol=EXACT)
        np.testing.assert_allclose(found.violation, expected.violation, atol=1e-9)
        ours, theirs = explain(problem, one), explain(alone, alone.read(text))
        (mine,), (other,) = ours["workloads"], theirs["workloads"]
        assert mine["training"]["split_ms"] == pytest.approx(other["training"]["split_ms"], rel=EXACT)
        assert mine["time_ms"] == pytest.approx(found.objectives[0, 0] * 1e3, rel=EXACT)
        assert set(other["plan"].split()) <= set(mine["plan"].split())


@pytest.mark.slow
@given(SEEDS)
@costly(10)
def test_open_plans_are_never_worse_than_one_of_them(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    random, folder = np.random.default_rng(seed), tmp_path_factory.mktemp("open")
    data = random_data(random)
    problem = problem_of(folder, data)
    front = search(problem, evaluations=1500, population=100, seed=seed % 1000)
    assert set(front.frame["plan"]) <= set(problem.time.tables[0].texts)
    again = problem.evaluate(front.frame["design"].to_list())
    np.testing.assert_allclose(again.objectives[0] * 1e3, front.frame["time_ms"].to_numpy(), rtol=1e-9)
    assert not again.violation.any()


def test_two_workloads_have_a_plan_each(tmp_path: Path) -> None:
    data = data_of({}, {"tp": [1, 2, 4], "pp": [1, 2]})
    second = {**data["workloads"][0], "name": "second", "weight": 0.5, "parallelism": {"tp": [2, 8]}}
    problem = problem_of(tmp_path, {**data, "workloads": [*data["workloads"], second]})
    designs = problem.decode(problem.genome.sample(np.random.default_rng(0), 30))
    assert designs.plans.shape == (2, 30)
    text = str(problem.fabrics(designs)[0])
    assert text.count(" | ") == 2
    columns = problem.describe(problem.genome.sample(np.random.default_rng(0), 3))
    assert {"plan[0]", "plan[1]"} <= set(columns)
    found = explain(problem, designs.select([0]))["workloads"]
    assert [one["plan"] for one in found] == text.split(" | ")[1:]
    time = sum(one["weight"] * one["time_ms"] for one in found)
    assert time == pytest.approx(float(problem.time(designs)[0]) * 1e3, rel=EXACT)


@pytest.mark.parametrize(
    ("training", "parallelism", "part"),
    [
        ({}, {"tp": [3, 5]}, "no plan is possible; with the first values, "),
        ({"zero": [0, 4]}, {}, "training.zero[1]: found 4"),
        ({"global_batch": 5}, {"tp": "any"}, "no plan is possible"),
        ({"precision": ["bf16", "int8"]}, {}, "precision"),
        ({"precision": "mxfp6"}, {}, "training.precision: found 'mxfp6' (text); allowed: bf16, fp8, mxfp8, nvfp4"),
        ({"head_precision": "nvfp4"}, {}, "training.head_precision: found 'nvfp4' (text); allowed: bf16, fp8, mxfp8"),
        ({"head_precision": "mxfp8"}, {}, "head_precision: found mxfp8; h100-80gb has kernel constants for bf16"),
        ({"precision": "nvfp4"}, {}, "training.precision: found nvfp4; h100-80gb has kernel constants for bf16, fp8"),
        ({"precision": ["fp8", "nvfp4"]}, {}, "found nvfp4, which none of h100-80gb has kernel constants for"),
        (
            {"precision": "fp8", "bf16_layers": [6, 7]},
            {},
            "bf16_layers: found 6 and 7; small has 8 layers",
        ),
        ({"bf16_layers": [0, 4]}, {}, "bf16_layers: all layers are in bf16; leave this key out"),
        ({"precision": "mxfp8"}, {}, "training.precision: found mxfp8; h100-80gb has kernel constants for bf16, fp8"),
        ({}, {"tp": "all"}, "parallelism.tp: found 'all' (text); allowed: any"),
    ],
)
def test_choices_that_hold_no_plan_are_refused(
    training: dict[str, Any], parallelism: dict[str, Any], part: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as caught:
        problem_of(tmp_path, data_of(training, parallelism))
    assert part in str(caught.value)


def test_plans_that_all_need_too_much_memory_are_refused_with_the_nearest(tmp_path: Path) -> None:
    data = data_of({"zero": [0, 1]}, {"tp": [1, 2]}, memory={"reserve": 0.98})
    with pytest.raises(InputError, match=r"none of the 4 plans fits 1\.6 GB; the smallest, tp2 dp32 mb1 zero1, needs"):
        problem_of(tmp_path, data)


def test_a_plan_that_breaks_a_limit_of_memory_is_told_its_classes_and_what_fits(tmp_path: Path) -> None:
    network = "SW(8)@nvlink4:450_SW(8)@optics-400g:50"
    data = data_of({"zero": [0, 1]}, {"tp": [1, 2]}, objectives=["time", "cost", "memory"])
    open_plans = problem_of(tmp_path, data)
    report = explain(open_plans, open_plans.read(f"{network} | dp64 mb1 zero0"))
    needs = report["workloads"][0]["training"]["memory_total_GB"]
    limited = problem_of(tmp_path, {**data, "constraints": [f"memory <= {0.9 * needs:.2f} GB"]})
    broken, advice = violations(limited, limited.read(f"{network} | dp64 mb1 zero0"))
    assert broken.startswith(f"the constraint 'memory <= {0.9 * needs:.2f} GB' is broken")
    assert advice.startswith(f"small (dp64 mb1 zero0) needs {needs:.1f} GB of an NPU: ")
    assert "states" in advice
    assert "zero: 1 would need" in advice
    assert not violations(limited, limited.read(f"{network} | tp2 dp32 mb1 zero1"))


@pytest.mark.parametrize(
    ("design", "part"),
    [
        ("SW(8)@nvlink4:450_SW(8)@optics-400g:50", "has no plan, and a plan is needed; write it like"),
        (
            "SW(8)@nvlink4:450_SW(8)@optics-400g:50 | tp2 dp32 mb1 zero1 spares=64",
            "an option goes before the bar, after the network, like SW(8)@nvlink4:450_SW(8)@optics-400g:50 spares=64",
        ),
        ("SW(8)@nvlink4:450_SW(8)@optics-400g:50 | tp3 dp2", "is none of the 4 plans of small, such as dp64 mb1 zero0"),
        ("SW(8)@nvlink4:450_SW(8)@optics-400g:50 | tp1 | tp2", "has 2 plans, and a plan is needed"),
    ],
)
def test_a_design_without_its_plan_is_refused(design: str, part: str, tmp_path: Path) -> None:
    problem = problem_of(tmp_path, data_of({"zero": [0, 1]}, {"tp": [1, 2]}))
    with pytest.raises(InputError) as caught:
        problem.read(design)
    assert part in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["libra", "astra"])
def test_alternatives_are_what_evaluation_says_of_them(model: str, tmp_path: Path) -> None:
    parallelism, training = {"tp": [1, 2, 4], "pp": "any", "vp": "any"}, {"zero": [1, 3], "recompute": ["none", "full"]}
    problem = problem_of(tmp_path, data_of(training, parallelism, time={"model": model}))
    design = "SW(8)@nvlink4:450_SW(8)@optics-400g:50"
    one = problem.read(f"{design} | tp2 pp2 dp16 mb1 zero1")
    (workload,) = explain(problem, one)["workloads"]
    found = workload["alternatives"]
    assert {one["change"].split()[0] for one in found["changes"]} >= {"tp", "pp", "zero", "recompute"}
    for change in [*found["changes"], *([found["next_plan"]] if "next_plan" in found else [])]:
        evaluated = problem.evaluate(f"{design} | {change['plan']}")
        assert change["time_ms"] == pytest.approx(evaluated.objectives[0, 0] * 1e3, rel=EXACT)
    if model == "libra":
        table = problem.time.tables[0]
        times = [problem.evaluate(f"{design} | {text}").objectives[0, 0] for text in table.texts]
        assert found["faster_plans"] == sum(time < times[table.find("tp2 pp2 dp16 mb1 zero1")] for time in times)
        assert found["next_plan"]["time_ms"] == pytest.approx(min(times) * 1e3, rel=EXACT)
    wider = problem.read("SW(8)@nvlink4:495_SW(8)@optics-400g:55 | tp2 pp2 dp16 mb1 zero1")
    assert found["time_with_faster_network_ms"] == pytest.approx(float(problem.time(wider)[0]) * 1e3, rel=1e-9)


def test_a_network_has_only_the_ports_of_its_accelerator(tmp_path: Path) -> None:
    data = data_of({}, {"tp": [1, 2]})
    with pytest.raises(
        InputError, match=r"technologies\[1\]: h100-80gb has no ports of ici-v5p; it has nvlink4, pcie5"
    ):
        problem_of(tmp_path, {**data, "fabric": {**data["fabric"], "technologies": ["nvlink4", "ici-v5p"]}})
    every = {key: value for key, value in data["fabric"].items() if key not in ("technologies", "blocks")}
    names = set(problem_of(tmp_path, {**data, "fabric": {**every, "max_dimensions": 2}}).catalog.names)
    assert {"nvlink4", "pcie5", "optics-400g", "copper-400g"} <= names
    assert not {"nvlink3", "nvlink5", "ici-v5p", "xgmi"} & names
    own = {"base": "h100-80gb", "ports": {"nvlink4": 9}, "sources": {"ports": "half of the links, 2026"}}
    problem = problem_of(tmp_path, {**data, "npu": own})
    designs = problem.decode(problem.genome.sample(np.random.default_rng(0), 200))
    assert (designs.bandwidth * (designs.technology == problem.catalog.names.index("nvlink4"))).sum(
        axis=0
    ).max() <= 225e9


@pytest.mark.slow
@pytest.mark.parametrize(
    "row",
    [
        row
        for row in training_rows()
        if row["id"] in ("sc21.t2.ptd.174.6.1536", "sc21.t1.310.1B", "sc21.t1.529.6B", "sc21.t1.1008B")
    ],
    ids=lambda row: row["id"],
)
def test_a_search_of_plans_alone_is_no_slower_than_the_published_plan(row: dict[str, Any], tmp_path: Path) -> None:
    shape = f"SW(8)@nvlink3:300_CL({row['npus'] // 8})@optics-200g:25"
    model = {key: row[key] for key in ("layers", "hidden", "heads", "kv_heads", "feed_forward", "gated", "vocabulary")}
    training = {
        "sequence": row["sequence"], "global_batch": row["global_batch"], "gradients": "bf16", "zero": 0,
        "attention": "unfused", "stack": "megatron-2021", "recompute": "full", "sequence_parallel": False,
        "overlap": {"tp": False, "pp": False, "dp": False},
    }  # fmt: skip

    def problem(parallelism: dict[str, Any], micro_batch: Any) -> Problem:
        workload = {
            "name": "row", "generator": {"kind": "decoder", **model, "sequence": row["sequence"], "tied": True},
            "training": {**training, "micro_batch": micro_batch}, "parallelism": parallelism,
        }  # fmt: skip
        return problem_of(tmp_path, {
            "name": "row", "npus": row["npus"], "npu": row["npu"], "bandwidth": "ports", "workloads": [workload],
            "fabric": {"catalog": "parts-2024", "technologies": ["nvlink3", "optics-200g"], "shape": shape},
            "time": {"model": "libra", "efficiency": {"optics-200g": 0.85}}, "objectives": ["time"],
        })  # fmt: skip

    published = problem({key: row[key] for key in ("tp", "pp", "vp")}, row["micro_batch"])
    opened = problem({"tp": [1, 2, 4, 8, 16], "pp": "any", "vp": "any"}, "any")
    found = search(opened, evaluations=5000, population=200)
    assert found.frame["time_ms"][0] <= published.evaluate(shape).objectives[0, 0] * 1e3
