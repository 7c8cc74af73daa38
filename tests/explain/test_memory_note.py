"""Plans that fit by their stated memory, and may not within its band."""

from __future__ import annotations

import pytest
from order_results import order_front, orders

from evo_libra.explain import memory_note as module
from evo_libra.explain.candidates import candidates_of
from evo_libra.explain.design_record import design_record
from evo_libra.explain.memory_note import memory_note
from evo_libra.explain.time_record import Memory
from evo_libra.explain.verdict import verdict
from evo_libra.problem.bands import Band


def evaluated(design: str) -> Memory:
    """Return the memory that `evaluate` prints."""
    step = design_record(orders(), design, alternatives=False).breakdown.workloads[0].training
    assert step is not None
    assert step.memory.memory_limit_GB is not None
    return step.memory


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give memories a band up to ten times of what is stated."""
    band = Band(low_factor=0.5, high_factor=10.0, of="made up", rows=1, years=(2025, 2025))
    monkeypatch.setattr(module, "bands_of", lambda problem, designs: [{module.MEMORY_COLUMN: band}])  # noqa: ARG005


@pytest.mark.usefixtures("wide")
def test_a_plan_whose_band_passes_the_limit_is_named_with_the_figures_of_evaluate() -> None:
    for design in order_front().frame["design"]:
        memory = evaluated(design)
        size = f"{memory.memory_total_GB:.4g} of {memory.memory_limit_GB:.4g} GB"
        high = f"{10.0 * memory.memory_total_GB:.4g} GB"
        assert memory_note(orders(), design) == (
            f"Its plan takes {size}, and up to {high} within its band: it may not fit.",
        )


def test_a_plan_that_fits_at_the_end_of_its_band_has_no_note() -> None:
    for design in order_front().frame["design"]:
        memory = evaluated(design)
        high = design_record(orders(), design, alternatives=False).bands["memory_GB"].around(memory.memory_total_GB)[1]
        assert high <= (memory.memory_limit_GB or 0.0)
        assert memory_note(orders(), design) == ()


@pytest.mark.usefixtures("wide")
def test_the_verdict_says_so_of_what_it_buys() -> None:
    said = verdict(order_front(), candidates_of(order_front()), orders())
    assert said.notes[0].endswith("within its band: it may not fit.")
