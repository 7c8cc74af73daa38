"""Problems whose systems are rented slices of TPUs: their plans, their rents, and published steps."""

from __future__ import annotations

from typing import Any

import pytest
from order_files import order_data, order_problem

from evo_libra import search
from evo_libra.errors import InputError
from evo_libra.network.blocks.scale_out import ONE_SWITCH, ScaleOutKit
from evo_libra.network.catalog.technologies import Catalog
from evo_libra.problem.pricing.catalog import kits_of
from evo_libra.validation.slices import STEPS, SliceStep, best_seconds

RENT = {"limits": {"order": ["buy", "rent"]}, "tco": {"years": 1, "usd_per_kWh": 0.0, "pue": 1.0}}


def rented(**changes: Any) -> dict[str, Any]:
    """Return the data of a file that asks for 256 TPU7x at 5 USD."""
    data = order_data(systems=["tpu7x-slice"], npus=256, objectives=["time"], rent={"tpu7x-slice": 5.0}, **RENT)
    data["workloads"][0]["training"]["global_batch"] = 512
    return {**data, **changes}


@pytest.mark.slow
def test_one_system_alone_is_searched() -> None:
    found = search(order_problem(systems=["gb300-nvl72"], npus=72))
    assert {row["design"].partition(" | ")[0] for row in found.rows()} == {"1 gb300-nvl72"}


@pytest.mark.slow
def test_slices_are_searched_with_plans_and_several_are_joined() -> None:
    problem = order_problem(**rented(objectives=["time", "usd-per-Mtoken"]))
    assert problem.book is not None
    assert [problem.book.notation(place) for place in range(len(problem.book))] == [
        "1 tpu7x-slice-256", "2 tpu7x-slice-128", "4 tpu7x-slice-64",
    ]  # fmt: skip
    catalog = problem.catalog
    assert isinstance(catalog, Catalog)
    inner, *_, outer = kits_of(catalog)
    assert (inner.technology, inner.ports * inner.port_rate) == ("ici-7x", pytest.approx(600e9))
    # 400 Gb/s of a host are 12.5 GB/s of each of its four chips.
    assert isinstance(outer, ScaleOutKit)
    assert (outer.ports * outer.port_rate, outer.reach) == (12.5e9, ONE_SWITCH)
    assert problem.book.efficiency.tolist() == [1.0] * 5
    for row in search(problem).rows():
        # 256 NPUs at 5 USD, for 512 sequences of 4,096 tokens a step.
        seconds = row["time_ms"] / 1e3
        usd = 256 * 5.0 / 3600 * seconds / (512 * 4096) * 1e6
        assert row["cost_per_Mtoken_usd"] == pytest.approx(usd, rel=1e-6)


def test_rents_and_prices_are_in_no_cost_together() -> None:
    with pytest.raises(InputError, match="tpu7x-slice is rented by the hour, and has no price or power of a purchase"):
        order_problem(**rented(objectives=["time", "order-cost"]))
    with pytest.raises(InputError, match="tpu7x-slice is rented by the hour"):
        order_problem(**rented(constraints=["1 MUSD >= order-cost"]))
    both = order_problem(**rented(systems=["tpu7x-slice", "hgx-b300"], objectives=["time", "order-cost"]))
    assert both.book is not None
    assert {order.system for order in both.book.orders} == {"hgx-b300"}
    assert [reason[:31] for reason in both.book.reasons] == ["tpu7x-slice is rented by the ho"]


@pytest.mark.slow
def test_a_warning_says_what_a_rent_is() -> None:
    problem = order_problem(**rented(systems=["tpu7x-slice", "hgx-b300"], objectives=["time", "usd-per-Mtoken"]))
    kernels, note = problem.notes
    assert "tpu7x (attention) are those of one measurement" in kernels.sentence
    assert note.sentence.startswith(
        "the cost of tpu7x-slice is the rent for `tco.years`, 1; the cost of a system that is bought is"
    )
    assert not order_problem().notes


def test_a_rent_without_tco_names_that_key() -> None:
    with pytest.raises(InputError, match="objectives: system-tco needs the key 'tco'"):
        order_problem(**{**rented(systems=["tpu7x-slice"], objectives=["time", "system-tco"]), "tco": None})


def test_only_rented_systems_have_rents() -> None:
    with pytest.raises(InputError, match=r"rent: unknown rented system 'hgx-b300'; allowed: trn2-.*, tpu7x"):
        order_problem(**rented(rent={"hgx-b300": 2.0}))


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_published_steps_are_near(step: SliceStep) -> None:
    """No constant was fitted to them; the tables do not have MaxText's plans, and the best one counts here."""
    assert best_seconds(step) == pytest.approx(step.published, rel=0.2)
