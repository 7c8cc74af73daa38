"""Errors of rows by what is bought, of rows made up."""

from __future__ import annotations

import pytest

from evo_libra.validation.classes import band_of, by_class, schedule_of
from evo_libra.validation.source import Basis, PublishedRow, PublishedSource, StepClass
from evo_libra.workload.plans.plans import one_plan

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
    assert found[0].band == pytest.approx((10 / 12.5, 10 / 9))


def test_a_band_of_many_rows_leaves_out_a_tenth() -> None:
    # Ratios 1, 2, ..., 21: the 5 % and 95 % quantiles are the second and the last but one.
    assert band_of([row(10.0 / ratio) for ratio in range(1, 22)]) == pytest.approx((2.0, 20.0))
    assert band_of([row(5.0, unit="tokens/s")]) == (0.5, 0.5)


@pytest.mark.parametrize(("plan", "schedule"), [
    ({"pp": 4, "zero": 1}, "pipeline"), ({"pp": 4, "zero": 3}, "FSDP"), ({"dp": 8, "zero": 1}, "replicas"),
])  # fmt: skip
def test_the_schedule_of_a_plan(plan: dict[str, int], schedule: str) -> None:
    assert schedule_of(one_plan(**plan)) == schedule
