"""The measured class that is nearest to a design's, and the bands that it gives."""

from __future__ import annotations

from math import exp, hypot, log

import pytest
from order_files import order_problem

from evo_libra import load_problem
from evo_libra.problem.bands import bands_of, joined_ends
from evo_libra.problem.class_bands import ClassBands, classes_of
from evo_libra.problem.measured import measured_classes, nearest, offset, parts_of
from evo_libra.problem.problem import Problem
from evo_libra.workload.plans.step_class import FIRST_TOKEN, MEMORY, TIME, StepClass

H100 = StepClass("h100-80gb", "fp8", "dense", "pipeline")


def stands_for(of: StepClass, figure: str = TIME) -> tuple[str, tuple[str, ...]]:
    found = nearest(of, figure)
    assert found is not None
    return str(found.measured.of), found.differing


@pytest.mark.slow
def test_a_class_with_rows_stands_for_itself() -> None:
    assert stands_for(H100) == (str(H100), ())


@pytest.mark.slow
@pytest.mark.parametrize(("npu", "precision", "model", "schedule", "nearest_one", "differing"), [
    ("h200-141gb", "fp8", "dense", "pipeline", "h100-80gb, fp8, dense, pipeline", ("npu",)),
    ("gb300", "fp8", "routed", "pipeline", "gb200, fp8, dense, pipeline", ("npu", "model")),
    ("h100-80gb", "fp8", "routed", "FSDP", "h100-80gb, fp8, dense, FSDP", ("model",)),
    ("tpu7x", "bf16", "routed", "FSDP", "tpu7x, bf16, routed, FSDP", ()),
    ("h200-141gb", "fp8", "dense", "serving", "h200-141gb, fp8, routed, serving", ("model",)),
])  # fmt: skip
def test_the_nearest_class(
    npu: str, precision: str, model: str, schedule: str, nearest_one: str, differing: tuple[str, ...]
) -> None:
    assert stands_for(StepClass(npu, precision, model, schedule)) == (nearest_one, differing)


def test_memory_of_served_models_takes_the_rows_of_training() -> None:
    served = StepClass("h100-80gb", "fp8", "dense", "serving")
    found = parts_of(served, MEMORY)
    assert found is not None
    parts, rows = found
    assert rows.of == StepClass("h100-80gb", "fp8", "dense", "pipeline")
    assert [part.of for part in parts] == [f"memory of {rows.of}", "serving in place of pipeline"]
    each = [rows.low, 1.0 / offset(MEMORY, "schedule", served=False)]
    assert joined_ends(parts)[0] == pytest.approx(exp(-hypot(*map(log, each))), rel=1e-12)
    assert stands_for(served, FIRST_TOKEN) == (str(served), ())


def test_a_class_that_stands_for_another_is_wider_by_each_difference() -> None:
    found = parts_of(StepClass("h200-141gb", "fp8", "routed", "pipeline"), TIME)
    assert found is not None
    parts, rows = found
    assert [part.of for part in parts] == [
        "time of h100-80gb, fp8, dense, pipeline", "h200-141gb in place of h100-80gb", "routed in place of dense",
    ]  # fmt: skip
    each = [rows.high, *(offset(TIME, aspect, served=False) for aspect in ("npu", "model"))]
    assert joined_ends(parts)[1] == pytest.approx(exp(hypot(*map(log, each))), rel=1e-12)


def test_bands_hold_the_computed_figure() -> None:
    assert all(one.low <= 1.0 <= one.high for one in measured_classes())


def orders() -> Problem:
    return order_problem(
        systems=["hgx-h100", "hgx-h200"], npus=64, objectives=["time", "memory", "tokens-per-s", "order-cost"]
    )


def test_time_memory_and_what_follows_from_them_have_bands() -> None:
    problem = orders()
    assert problem.book is not None
    texts = [f"{problem.book.notation(place)} | tp2 pp2 dp16 mb1 zero1 batch576" for place in (0,)]
    designs = problem.read(texts)
    (of,) = classes_of(problem, designs)[0]
    assert of == StepClass("h100-80gb", "bf16", "dense", "pipeline")
    (found,) = ClassBands().bands(problem, designs)
    rows, bytes_ = nearest(of, TIME), nearest(of, MEMORY)
    assert rows is not None
    assert bytes_ is not None
    assert (found["time_ms"].low_factor, found["time_ms"].high_factor) == pytest.approx(
        (rows.measured.low, rows.measured.high), rel=1e-9
    )
    # Time of a million tokens follows the time, the cost has no band, and the memory has its own.
    assert found["s_per_Mtoken"].high_factor == pytest.approx(rows.measured.high, rel=1e-9)
    assert "order_cost_usd" not in found
    assert found["memory_GB"].of.startswith(f"memory of {bytes_.measured.of}")


def test_tables_of_layers_have_no_bands() -> None:
    problem = load_problem("gpt3-4k")
    assert isinstance(problem, Problem)
    assert problem.band_sources == ()
    designs = problem.read("RI(4)@chiplet:250_FC(8)@package:125_RI(4)@node:60_SW(32)@pod:20")
    assert bands_of(problem, designs) == [{}]
    assert ClassBands().bands(problem, designs) == [{}]
