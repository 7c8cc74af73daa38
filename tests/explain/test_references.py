"""Reference designs that fit a problem, and a front beside them."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from designs import design_file

from evo_libra import load_problem, search
from evo_libra.explain.references import CHEAPER, FASTER, ReferencePoint, compared, reference_points, reference_rows
from evo_libra.front.front import Front
from evo_libra.pictures.plots.axes import MAX_SERIES
from evo_libra.pictures.plots.scatter import figure_of, series_of, with_references
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import COST, TIME
from evo_libra.ui.tables.references import comparison


def load(name: str, *assignments: str) -> Problem:
    problem = load_problem(design_file(name), assignments)
    assert isinstance(problem, Problem)
    return problem


def point(time: float, cost: float, name: str = "some") -> ReferencePoint:
    return ReferencePoint(name, "RI(2)", {"time_ms": time, "cost_usd": cost}, "here", 2026)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("dense-1k", ["dgx-h100-superpod", "rail-only-h100"]),
        ("dense-32k", ["rail-only-h100"]),
        ("gpt3-175b-1536", ["dgx-a100-superpod"]),
        ("mixtral-8x7b-256", ["dgx-h100-superpod", "rail-only-h100"]),
        ("mixed-models-4k", ["dgx-h100-superpod", "rail-only-h100"]),
        ("gpt3-4k", []),
        ("llama3-405b-16k", ["dgx-h100-superpod", "meta-roce-24k", "rail-only-h100"]),
        ("wafer-20", []),
    ],
)
def test_their_figures_are_those_of_evaluate(name: str, found: list[str]) -> None:
    problem = load(name)
    points = reference_points(problem)
    assert [one.name for one in points] == found
    for one in points:
        evaluation = problem.evaluate(one.design)
        assert evaluation.violation.tolist() == [0.0]
        time, cost = evaluation.objectives[:, 0]
        assert one.figures == {"time_ms": time / TIME.scale, "cost_usd": cost / COST.scale}


@pytest.mark.slow
@pytest.mark.parametrize("limit", ["ttft <= 2 s", "tpot <= 14 ms"])
def test_a_served_workload_has_the_balanced_plan(limit: str) -> None:
    """No other plan of the same network and accelerator that keeps the limits has a lesser product of objectives."""
    problem = load("llama3-70b-serving", f"constraints=['{limit}']")
    points = reference_points(problem)
    assert {one.name for one in points} == {"rail-only-h100"}
    (table,) = problem.time.tables
    for one in points:
        network, npu = one.design.partition(" | ")[0], one.design.partition(" | ")[0].partition("npu=")[2]
        texts = [table.texts[n] for n in np.flatnonzero(table.npu == table.npus.index(npu))]
        others = problem.evaluate([f"{network} | {text}" for text in texts])
        mine = np.prod(problem.evaluate(one.design).objectives[:, 0])
        assert mine == pytest.approx(np.prod(others.objectives[:, others.violation == 0], axis=0).min(), rel=1e-12)


def test_what_does_not_fit_is_left_out() -> None:
    base = "dense-1k"
    assert [one.name for one in reference_points(load(base, "fabric.blocks=[ring, switch]"))] == ["rail-only-h100"]
    assert (
        reference_points(
            load(
                base, "fabric.technologies=[copper-400g, optics-400g]", "fabric.blocks=[ring, switch]",
                "workloads[0].tp_domain=any",
            )
        )
        == []
    )  # fmt: skip
    assert reference_points(load(base, "constraints=['cost <= 9 MUSD']")) == []
    tpu = load("dense-32k", "npus=4096", "npu=[h100-80gb, tpu-v4]")
    designs = {one.name: one.design for one in reference_points(tpu)}
    assert designs["tpu-v4-slice"] == "TC(4096)@ici-v4:270 npu=tpu-v4"
    assert designs["dgx-h100-superpod"].endswith("CL(512)@optics-400g:50 npu=h100-80gb")


def test_a_design_has_the_names_of_a_catalogue() -> None:
    named = "fabric={catalog: products-2025, technologies: [nvlink4, infiniband-ndr, roce-400g], max_dimensions: 3}"
    found = reference_points(load("dense-4k", named))
    assert [(one.name, one.design.rpartition("@")[2]) for one in found] == [
        ("dgx-h100-superpod", "infiniband-ndr:50"),
        ("rail-only-h100", "infiniband-ndr:50"),
        ("rail-only-h100", "roce-400g:50"),
    ]
    # InfiniBand by its name is built of the same parts, but for copper within racks.
    others = reference_points(load("dense-4k"))
    assert [one.figures["time_ms"] for one in found[:2]] == [one.figures["time_ms"] for one in others]
    assert all(one.figures["cost_usd"] < other.figures["cost_usd"] for one, other in zip(found, others, strict=False))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mixtral-8x7b-256", "mixed-models-4k"])
def test_no_other_plan_is_faster(name: str) -> None:
    problem, rng = load(name), np.random.default_rng(0)
    best = reference_points(problem)[0]
    network = problem.read(best.design)
    plans = np.stack([rng.integers(len(table.texts), size=3000) for table in problem.time.tables])
    plans = plans[:, problem.time.fits(np.repeat(network.npus, 3000, axis=1), plans)]
    found = problem.evaluate(replace(network.select(np.zeros(plans.shape[1], dtype=np.int64)), plan=plans))
    feasible = found.violation == 0
    assert feasible.sum() > 100
    assert (found.objectives[0, feasible] >= best.figures["time_ms"] * TIME.scale * (1 - 1e-12)).all()


@pytest.mark.parametrize(
    ("time", "cost", "cheaper", "faster", "said"),
    [
        (20.0, 200.0, 50.0, 50.0, "the front is 50.0 % cheaper at equal time, 50.0 % faster at equal cost"),
        (10.0, 200.0, 0.0, 0.0, "the front has one that is as fast and as cheap"),
        (10.0, 160.0, -25.0, -100.0, "the front is 25.0 % more expensive at equal time, 100.0 % slower at equal cost"),
        (9.0, 400.0, None, -100.0 / 9, "the front has no design as fast, and is 11.1 % slower at equal cost"),
        (40.0, 50.0, -100.0, None, "the front has no design as cheap, and is 100.0 % more expensive at equal time"),
        (9.0, 50.0, None, None, "the front has no design as fast or as cheap"),
    ],
)
def test_a_front_is_compared_at_equal_time_and_at_equal_cost(
    time: float, cost: float, cheaper: float | None, faster: float | None, said: str
) -> None:
    front = Front(pl.DataFrame({"time_ms": [10.0, 20.0], "cost_usd": [200.0, 100.0]}), ("time_ms", "cost_usd"))
    found = compared(front, point(time, cost))
    assert found[CHEAPER] == (None if cheaper is None else pytest.approx(cheaper))
    assert found[FASTER] == (None if faster is None else pytest.approx(faster))
    assert comparison(found) == said
    assert compared(Front(front.frame.select("time_ms"), ("time_ms",)), point(time, cost)) == {}


@pytest.mark.slow
def test_every_reference_has_a_name_in_the_plot() -> None:
    problem = load("dense-1k")
    front = search(problem, evaluations=500, population=50, seed=0)
    points = reference_points(problem)
    series = with_references(series_of(front, problem.objectives), points, problem.objectives)
    assert [one.label for one in series[-2:]] == [one.name for one in points]
    assert [(one.x.tolist(), one.y.tolist()) for one in series[-2:]] == [
        ([one.figures["cost_usd"]], [one.figures["time_ms"]]) for one in points
    ]
    many = with_references(series, [point(1.0, 2.0, f"p{n}") for n in range(MAX_SERIES)], problem.objectives)
    assert len(many) == len(series) + 1
    assert many[-1].label.startswith("p0, p1, p2")
    pictures: list[Any] = [io.BytesIO(), io.BytesIO()]
    figure_of(front, problem.objectives, "some", pictures[0])
    figure_of(front, problem.objectives, "some", pictures[1], points)
    assert pictures[0].getvalue() != pictures[1].getvalue()
    rows = reference_rows(points, front)
    assert all({"name", "design", "time_ms", "cost_usd", CHEAPER, FASTER, "source", "year"} == set(row) for row in rows)


@pytest.mark.slow
def test_oversubscribed_clusters_are_shown_where_their_ratio_is_offered() -> None:
    def names(*assignments: str) -> list[str]:
        return [one.name for one in reference_points(load("dense-4k", "time=libra", *assignments))]

    meta = ("npus=24576", "fabric.technologies=[nvlink4, optics-400g]")
    assert names(*meta) == ["rail-only-h100"]
    assert names(*meta, "fabric.oversubscription=[[1, 7]]") == ["meta-roce-24k", "rail-only-h100"]
    racks = (
        "npus=4608",
        "npu=gb200",
        "fabric.technologies=[nvlink5, optics-400g]",
        "fabric.blocks=[switch, fat-tree]",
    )
    assert names(*racks) == ["dgx-gb200-superpod"]
    assert names(*racks, "fabric.oversubscription=[2]") == ["dgx-gb200-superpod", "nvl72-2to1"]
    points = reference_points(load("dense-4k", "time=libra", *racks, "fabric.oversubscription=[2]"))
    full, half = (point.figures for point in points)
    assert half["cost_usd"] < full["cost_usd"]
    assert half["time_ms"] >= full["time_ms"]


@pytest.mark.slow
def test_several_served_workloads_have_plans_that_no_change_of_one_improves() -> None:
    workloads = [
        (
            "{name: chat, model: llama-3.1-8b, serving: {input: 1000, output: 500, concurrency: [1, 8, 64]}, "
            "parallelism: {tp: [1, 2, 8]}}"
        ),
        (
            "{name: documents, model: llama-3.1-8b, serving: {input: 8000, output: 200, concurrency: [1, 4, 16]}, "
            "parallelism: {tp: [1, 2, 8]}, weight: 0.3}"
        ),
    ]
    settings = [
        "npu=h100-80gb", "fabric.technologies=[nvlink4, optics-400g]", "constraints=['ttft <= 5 s']",
        f"workloads=[{', '.join(workloads)}]",
    ]  # fmt: skip
    problem = load("llama3-70b-serving", *settings)
    points = reference_points(problem)
    assert points
    for one in points:
        network, *plans = one.design.split(" | ")
        product = np.prod(list(one.figures.values()))
        for place, table in enumerate(problem.time.tables):
            for text in table.texts:
                changed = " | ".join([network, *plans[:place], text, *plans[place + 1 :]])
                found = problem.evaluate(changed)
                scaled = [
                    float(value) / objective.scale
                    for objective, value in zip(problem.objectives, found.objectives[:, 0], strict=True)
                ]
                assert found.violation[0] > 0 or np.prod(scaled) >= product * (1 - 1e-9)
