"""Errors of rows by what is bought, of rows made up."""

from __future__ import annotations

import pytest

from evo_libra.problem.measured import measured_classes
from evo_libra.validation.classes import by_class
from evo_libra.validation.source import Basis, PublishedRow, PublishedSource
from evo_libra.workload.plans.plans import one_plan
from evo_libra.workload.plans.step_class import StepClass, schedule_of

H100 = StepClass("h100-80gb", "fp8", "dense", "pipeline")


def row(computed: float, step: StepClass | None = H100, year: int = 2025, unit: str = "s") -> PublishedRow:
    return PublishedRow("a", 10.0, computed, unit, step, year)


def source(name: str, basis: Basis) -> PublishedSource:
    return PublishedSource(name, "training", name, tuple, basis=basis)


def test_rows_of_a_class_come_from_all_sources_and_the_newest_class_first() -> None:
    fitted, unseen = source("a", Basis.FITTED), source("b", Basis.UNSEEN)
    old = StepClass("a100-80gb", "bf16", "dense", "pipeline")
    found = by_class({fitted: [row(9.0, year=2024), row(10.0, old, 2021), row(1.0, None)], unseen: [row(12.5)]})
    assert [(one.of, one.years, one.bases) for one in found] == [
        (H100, (2024, 2025), (Basis.FITTED, Basis.UNSEEN)), (old, (2021, 2021), (Basis.FITTED,)),
    ]  # fmt: skip
    # -10 % and +25 %.
    assert (found[0].errors.mean, found[0].errors.bias) == pytest.approx((0.175, 0.075))
    # The band is that of the table that designs have, too.
    (shown,) = (one for one in measured_classes() if (one.of, one.figure) == (H100, "time"))
    assert found[0].band == (shown.low, shown.high)


def test_memory_and_first_tokens_are_rows_of_their_own() -> None:
    served = StepClass("h100-80gb", "fp8", "dense", "serving")
    rows = [
        PublishedRow("a", 10.0, 9.0, "ms", served, 2025), PublishedRow("a.first-token", 10.0, 8.0, "ms", served, 2025),
        PublishedRow("b", 60.0, 66.0, "GB", H100, 2024),
    ]  # fmt: skip
    found = by_class({source("a", Basis.UNSEEN): rows})
    assert [one.title for one in found] == [
        "h100-80gb, fp8, dense, serving, first-token", "h100-80gb, fp8, dense, serving",
        "h100-80gb, fp8, dense, pipeline, memory",
    ]  # fmt: skip


def test_a_class_that_is_not_in_the_table_has_no_band() -> None:
    strange = StepClass("made-up", "fp8", "dense", "pipeline")
    assert by_class({source("a", Basis.UNSEEN): [row(9.0, strange)]})[0].band is None


@pytest.mark.parametrize(("plan", "schedule"), [
    ({"pp": 4, "zero": 1}, "pipeline"), ({"pp": 4, "zero": 3}, "FSDP"), ({"dp": 8, "zero": 1}, "replicas"),
])  # fmt: skip
def test_the_schedule_of_a_plan(plan: dict[str, int], schedule: str) -> None:
    assert schedule_of(one_plan(**plan)) == schedule
