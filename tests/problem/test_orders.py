"""Problems that ask for an order: their space, their figures, and what they refuse."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from independent_check import broken_rules, catalogue
from order_files import order_data, order_problem

from evo_libra import load_problem, search
from evo_libra.errors import InputError
from evo_libra.explain.system_views import absent, system_rows
from evo_libra.front.front import Front
from evo_libra.network.orders.check import violations
from evo_libra.optimality.order_fronts import system_fronts
from evo_libra.problem.designs import genes_of
from evo_libra.problem.figures import system_watts
from evo_libra.problem.file.registry import load_open_problem
from evo_libra.problem.orders import OrderBook
from evo_libra.problem.problem import Problem


@cache
def problem() -> Problem:
    return order_problem()


@cache
def front() -> Front:
    return search(problem())


def book() -> OrderBook:
    found = problem().book
    assert found is not None
    return found


def test_pools_are_those_that_divide_or_are_near() -> None:
    """72 servers have 576 NPUs; racks have them in 8, in 7 (-12.5 % is too few) and in 9 with 64 of 72 in use."""
    assert book().pools == (("hgx-h100", 72, 8), ("gb200-nvl72", 8, 72), ("gb200-nvl72", 9, 64))


@pytest.mark.slow
def test_each_row_is_an_order_that_a_vendor_accepts() -> None:
    data = catalogue()
    for row in front().rows():
        text = row["design"].partition(" | ")[0]
        order = book().orders[[book().notation(n) for n in range(len(book()))].index(text)]
        assert violations(order, book().products) == []
        assert not broken_rules(text, data)


def test_objectives_are_the_sums_of_the_bill() -> None:
    """To the cent, in the front, in `evaluate`, and in the sections of the bill."""
    for row in front().rows():
        one = problem().read(row["design"])
        bill = book().bills[int(book().place(one)[0])]
        assert round(row["order_cost_usd"], 2) == bill.order_usd().value
        found = problem().measure(one, timed=False)
        assert round(float(found.cost[0]), 2) == bill.network_usd().value
        assert math.isclose(float(problem().evaluate(one).objectives[1, 0]), bill.order_usd().value, rel_tol=1e-12)
        assert math.isclose(float(system_watts(found)[0]), bill.watts(), rel_tol=1e-9)


def test_one_space() -> None:
    """What genes decode to is what `evaluate` accepts, with the same figures, and is read back as it is written."""
    genes = problem().genome.sample(np.random.Generator(np.random.PCG64(1)), 200)
    designs = problem().decode(genes)
    known = problem().evaluate_genes(genes)
    again = problem().read(problem().notation.written(designs))
    found = problem().evaluate(again)
    held = known.violation == 0
    assert held.any()
    assert np.allclose(found.objectives[:, held], known.objectives[:, held], rtol=1e-12)
    assert (found.violation[held] == 0).all()
    kept = again.select(np.flatnonzero(held))
    assert np.array_equal(problem().decode(genes_of(problem(), kept)).rows(), kept.rows())


def test_exact() -> None:
    """No design that is drawn beats a row of the front by more than the 1 % within which rows are one."""
    genes = problem().genome.sample(np.random.Generator(np.random.PCG64(2)), 3000)
    found = problem().evaluate_genes(genes)
    drawn = found.objectives[:, found.violation == 0]
    rows = front().frame.select(front().objectives).to_numpy().T * np.array([[1e-3], [1.0]])
    beaten = (rows[:, :, None] <= drawn[:, None] * 1.01).all(axis=0).any(axis=0)
    assert beaten.all()


def test_an_order_costs_the_same_alone_and_in_a_list() -> None:
    alone = order_problem(systems=["hgx-h100"])
    assert alone.book is not None
    for place, order in enumerate(alone.book.orders):
        assert alone.book.bills[place] == book().bills[book().orders.index(order)]


@pytest.mark.slow
def test_times_are_of_the_stated_batch() -> None:
    """A plan of another batch has its step's time over its own tokens, times those of the stated batch."""
    data = order_data()
    data["workloads"][0]["training"]["global_batch"] = {"about": 512, "within": 0.15}
    other = load_problem(data)
    assert isinstance(other, Problem)
    assert other.book is not None
    table = other.time.tables[0]
    odd = next(n for n, setup in enumerate(table.setup) if table.setups[setup].global_batch != 512)
    share = 512 / table.setups[table.setup[odd]].global_batch
    assert table.share_of_batch[odd] == share
    order = int(np.flatnonzero(other.book.pool == int(table.npu[odd]))[0])
    one = other.read(f"{other.book.notation(order)} | {table.text(odd)}")
    time = float(other.evaluate(one).objectives[0, 0])
    pinned = other.pinned(one)
    assert time == pytest.approx(float(pinned.time(one)[0]), rel=1e-12)
    assert time == pytest.approx(share * float(pinned.time.workload_times(one)[0][0]), rel=1e-12)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"systems": ["hgx-h100x"]}, "systems[0]: unknown system 'hgx-h100x'"),
        ({"systems": ["hgx-h100"], "npus": 100}, "hgx-h100: no domain of 8 divides 100; 96 = 12 x 8 is near"),
        (
            {"systems": ["gb300-nvl72"], "npus": 10_000},
            "no domain of 72 or 64 divides 10,000; 9,984 = 156 x 64 is near, 10,008 = 139 x 72 nearer",
        ),
        ({"fabric": {"switches": ["qm97000"]}}, "did you mean 'qm9700'?"),
        ({"bandwidth": "search"}, "bandwidth: belongs to `question: design`; this file asks for an order"),
        ({"question": "design"}, "systems: belongs to `question: order`; this file asks for a design"),
        ({"fabric": {"families": ["torus"]}}, "fabric.families"),
        ({"question": "both"}, "question: unknown question 'both'; allowed: design, order"),
        (
            {"prices": {"hgx-h100": {"low": 5, "value": 4, "high": 6}}},
            "prices.hgx-h100: found 5, 4, 6; low <= value <=",
        ),
        ({"fabric": {"ratio": {"leaf": "16:x"}}}, "fabric.ratio.leaf: found 'x', a number above 0 is needed"),
    ],
)
def test_what_is_refused(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as found:
        load_problem(order_data(**changes))
    assert sentence in str(found.value)


def test_systems_of_no_number_are_named_where_no_system_has_a_plan() -> None:
    training = {**order_data()["workloads"][0], "parallelism": {"tp": 7, "pp": 1}}
    with pytest.raises(InputError) as found:
        load_problem(order_data(systems=["hgx-h100", "gb300-nvl72"], npus=1000, workloads=[training]))
    assert "gb300-nvl72: no domain of 72 or 64 divides 1,000" in str(found.value)
    assert "125 hgx-h100 with 1,000 NPUs in use: no plan is possible" in str(found.value)


def test_a_ratio_is_written_as_its_two_bandwidths() -> None:
    one, other = (
        order_problem(fabric={"switches": "qm9700", "families": "fat-tree", "ratio": {"leaf": ratio, "pod": 1}})
        for ratio in ("8:5", 1.6)
    )
    assert one.book is not None
    assert other.book is not None
    assert one.book.orders == other.book.orders
    assert any(order.leaf_ratio == 1.6 for order in one.book.orders)


@pytest.mark.parametrize(("change", "sentences"), [
    ({"npu": "b200"}, ["npu: belongs to `question: design`; this file asks for an order because it names systems"]),
    ({"question": "order", "fabric": {"blocks": ["switch"], "families": "tor"}},
     ["fabric.blocks: belongs to `question: design`; this file asks for an order"]),
    ({"question": "design", "limits": {}}, [
        f"{key}: belongs to `question: order`; this file asks for a design"
        for key in ("systems", "limits", "fabric.switches")
    ]),
])  # fmt: skip
def test_keys_of_the_other_question_are_the_only_mistakes(change: dict[str, Any], sentences: list[str]) -> None:
    data = {key: value for key, value in order_data().items() if key != "question"} | change
    with pytest.raises(InputError) as found:
        load_problem(data)
    assert [f"{mistake.key}: {mistake.message}" for mistake in found.value.mistakes] == sentences


def test_a_design_with_limits_of_an_order_says_what_asks_for_one() -> None:
    with pytest.raises(InputError) as found:
        load_problem({"name": "x", "npus": 8, "limits": {"room_MW": 1}})
    sentence = (
        "belongs to `question: order`; this file asks for a design because it does not say that it asks for an order"
    )
    assert str(found.value).endswith(f"limits: {sentence}")


def test_a_number_that_no_system_makes_up_is_the_mistake() -> None:
    with pytest.raises(InputError) as found:
        load_problem(order_data(systems=["gb300-nvl72"], npus=10_000))
    assert str(found.value.mistakes[0].key) == "npus"


def test_a_switch_without_a_price_is_a_mistake_of_the_switches() -> None:
    with pytest.raises(InputError) as found:
        load_problem("deepseek-r1-64", ["systems=[hgx-b200, hgx-h200]", "fabric.switches=[sn5640]"])
    assert str(found.value) == (
        "--set fabric.switches=[sn5640]: fabric.switches: hgx-b200, hgx-h200: sn5640 has no price_usd, which the cost "
        "of an order needs (leaf switches); `prices: {sn5640: ...}` gives USD of a piece"
    )


def test_objectives_of_orders_are_theirs_alone() -> None:
    with pytest.raises(InputError, match="order-cost is of an order"):
        load_problem("gpt3-4k", ['objectives=["time", "order-cost"]'])


def test_orders_that_cannot_be_bought_are_refused() -> None:
    with pytest.raises(InputError, match="cannot be bought"):
        problem().read("72 hgx-h100 / 1 x 400G / sn5600 tor 2:1 pods 7:1 | tp1 dp576 mb1 zero1")


@pytest.mark.parametrize(
    ("design", "sentence"),
    [
        ("72 hgx-h100 / 1 x 400G / qm9700 rail-only 1:1 | tp1 dp576 mb1 zero1",
         "that the file allows: family rail-only, where the file allows rail-optimised, tor, fat tree"),
        ("72 hgx-h100 / 1 x 400G / qm9700 fat tree 4:1",
         "that the file allows: leaf ratio 4:1, where the file allows 1:1, 2:1"),
        ("64 hgx-h100 / 1 x 400G / th5-64 fat tree 2:1",
         ("that the file allows: NPUs 64 x 8, where the file allows 72 x 8; "
          "switch th5-64, where the file allows qm9700, sn5600")),
        ("72 hgx-h100 / 1 x 400G / qm9700 fat tree 2:1",
         ("the order '72 hgx-h100 / 1 x 400G / qm9700 fat tree 2:1' has no plan, and a plan is needed; write it like "
          "72 hgx-h100 / 1 x 400G / qm9700 fat tree 2:1 | ")),
        ("72 hgx-h100 / 1 x 400G / qm9700 fat tree 2:1 | tp1 dp576 mb1",
         "of decoder on these systems, such as "),
        ("72 hgx-h100 / 1 x 400G / qm9700 fat tree 2:1 | tp1 dp576 mb1 zero1 chunks=4",
         "'chunks=4' in the order '72 hgx-h100 / 1 x 400G / qm9700 fat tree 2:1' is after the bar, where only plans"),
    ],
)  # fmt: skip
def test_orders_that_the_file_does_not_allow_are_named_by_their_parts(design: str, sentence: str) -> None:
    with pytest.raises(InputError) as found:
        problem().read(design)
    assert sentence in str(found.value)


def test_a_plan_that_lacks_words_is_completed() -> None:
    with pytest.raises(InputError) as found:
        problem().read("72 hgx-h100 / 1 x 400G / qm9700 fat tree 2:1 | pp2 dp288 mb1")
    assert "; did you mean 'pp2 dp288 mb1 zero" in str(found.value)


def test_leaves_without_spines_are_no_matter_of_rails() -> None:
    """Eight racks of 4 rails fit one leaf of each of 64 ports: rail-optimised builds what a fat tree does."""
    small = order_problem(systems=["hgx-h100"], npus=64, fabric={"switches": ["sn5600"]})
    assert small.book is not None
    plan = small.time.tables[0].texts[0]
    heads = [f"8 hgx-h100 / 1 x 400G / sn5600 {family} 1:1" for family in ("rail-optimised", "fat tree")]
    places = {int(small.book.place(small.read(f"{head} | {plan}"))[0]) for head in heads}
    assert len(places) == 1


@pytest.mark.slow
def test_open_options_of_collectives_are_part_of_an_order() -> None:
    """An order of a front is read with the chunks and the scheduler that it has, and has the same figures again."""
    open_ = order_problem(time={"model": "astra", "chunks": [2, 8], "scheduler": ["baseline", "round-robin"]})
    found = search(open_)
    designs = found.frame["design"].to_list()
    assert all(re.search(r":1 chunks=\d scheduler=[a-z-]+ \| ", design) for design in designs)
    again = open_.evaluate(designs)
    assert again.objectives[0] * 1e3 == pytest.approx(found.frame["time_ms"].to_numpy(), rel=1e-12)
    assert open_.notation.written(open_.read(designs)) == designs
    with pytest.raises(InputError, match="under LIBRA's time there are none"):
        problem().read(designs[0])


def test_a_count_without_plans_is_named() -> None:
    """With a batch of 512 no plan of 576 NPUs divides: the racks of 72 leave, and a sentence says why."""
    data = order_data(npus=[512, 576])
    data["workloads"][0]["training"]["global_batch"] = 512
    found = load_problem(data)
    assert isinstance(found, Problem)
    assert found.book is not None
    assert {pool[:2] for pool in found.book.pools} == {("hgx-h100", 64), ("gb200-nvl72", 8)}
    assert any("72 hgx-h100 with 576 NPUs in use: no plan is possible" in reason for reason in found.book.reasons)


_TWO_NETWORKS = {"switches": ["th5-64", "qm9700"], "ratio": {"leaf": [1, 4, 16]}}
"""Networks of which servers have a cheap one and a faster one on their front."""


@pytest.mark.slow
def test_each_system_has_a_front() -> None:
    """One row for each order, the cheapest network first; a row says what it adds to the one before it.

    No network of a system is as cheap as another within 1 % and as fast.
    """
    rows = system_rows(order_problem(fabric=_TWO_NETWORKS))
    assert list(dict.fromkeys(row.system for row in rows)) == ["hgx-h100", "gb200-nvl72"]
    for system in ("hgx-h100", "gb200-nvl72"):
        mine = [row for row in rows if row.system == system]
        assert len(mine) > 1
        networks, costs = [row.network_cost_usd for row in mine], [row.order_cost_usd for row in mine]
        times = [row.objectives["time_ms"] for row in mine]
        assert networks == sorted(set(networks))
        assert times == sorted(times, reverse=True)
        pairs = zip(networks, networks[1:], times, times[1:], strict=False)
        assert all(more > 1.01 * less or slow > 1.01 * fast for less, more, slow, fast in pairs)
        adds = f"{100 * (costs[1] / costs[0] - 1):+.3g} % of the order, -{100 * (1 - times[1] / times[0]):.3g} % time"
        assert [row.adds for row in mine[:2]] == ["", adds]


@pytest.mark.slow
def test_a_system_that_is_on_no_row_has_a_reason() -> None:
    """By cost alone, the cheapest order of servers beats all of racks."""
    found = order_problem(fabric=_TWO_NETWORKS, objectives=["order-cost"])
    front, rows = search(found), system_rows(found)
    assert front.frame["system"].to_list() == ["hgx-h100"]
    server, rack = (
        min(row.order_cost_usd for row in rows if row.system == name) for name in ("hgx-h100", "gb200-nvl72")
    )
    (reason,) = absent(found, front, rows)
    assert reason.startswith("gb200-nvl72 is on no row: its nearest order, 8 gb200-nvl72 / ")
    assert reason.endswith(f" has +{100 * (rack / server - 1):.3g} % order cost against #0")


@pytest.mark.slow
def test_the_reason_of_a_row_left_out_as_another_comes_close_to_it_has_figures() -> None:
    """A row 0.5 % better than one of the front is left out, too, and no row of the front beats it."""
    found = order_problem(fabric=_TWO_NETWORKS, objectives=["order-cost"])
    front, (*servers, rack) = search(found), system_rows(found)
    close = replace(rack, objectives={"order_cost_usd": 0.995 * front.frame["order_cost_usd"].item()})
    (reason,) = absent(found, front, [*servers, close])
    assert reason.endswith(" has -0.5 % order cost against #0")


@pytest.mark.slow
def test_a_costlier_network_of_a_system_is_faster() -> None:
    """A price of tokens lets a slower and costlier order win a front: one system has such orders, and one row here."""
    served, trained = load_problem("deepseek-r1-64"), load_problem("mixtral-8x7b-256")
    assert isinstance(served, Problem)
    assert isinstance(trained, Problem)
    orders = {name: len({*found.designs.structure.tolist()}) for name, found in (system_fronts(served) or {}).items()}
    assert max(orders.values()) > 1
    pairs = 0
    for rows, column in ((system_rows(served), "tpot_ms"), (system_rows(trained), "time_ms")):
        for one, two in pairwise(rows):
            if one.system == two.system:
                assert two.order_cost_usd > one.order_cost_usd
                assert two.objectives[column] < one.objectives[column]
                assert "% of the order, -" in two.adds
                pairs += 1
    assert pairs


@pytest.mark.slow
def test_a_system_without_an_order_within_the_constraints_is_named() -> None:
    """The limit lies between the cheapest order of servers and the cheapest one of racks."""
    cheapest = {row.system: row.order_cost_usd for row in reversed(system_rows(problem()))}
    low, high = sorted(cheapest, key=lambda name: cheapest[name])
    limit = f"order-cost <= {(cheapest[low] + cheapest[high]) / 2:.0f} USD"
    found = load_problem(order_data(constraints=[limit]))
    assert isinstance(found, Problem)
    assert found.book is not None
    rows, count = system_rows(found), sum(order.system == high for order in found.book.orders)
    assert {row.system for row in rows} == {low}
    assert f"{high} is on no row: none of its {count} orders meets '{limit}'" in absent(found, search(found), rows)


def test_bandwidths_of_products_are_not_solved_for() -> None:
    with pytest.raises(InputError, match="are those of the products that it orders"):
        load_open_problem("megatron-1t-3072")


@pytest.mark.slow
def test_a_row_has_the_same_figures_where_its_system_is_the_only_one() -> None:
    """Its plan may say what is true of all plans there: the only batch, order or precision."""
    data = order_data()
    for system in ("hgx-h100", "gb200-nvl72"):
        alone = load_problem({**data, "systems": [system]})
        assert isinstance(alone, Problem)
        mine = [row.design for row in system_rows(problem()) if row.system == system]
        wanted, found = problem().evaluate(mine), alone.evaluate(mine)
        np.testing.assert_array_equal(wanted.objectives, found.objectives)
    fixed = load_problem({**data, "workloads": [{**data["workloads"][0], "training": {
        **data["workloads"][0]["training"], "global_batch": 576, "precision": "bf16"}}]})  # fmt: skip
    assert isinstance(fixed, Problem)
    rows = [row.design for row in system_rows(fixed)]
    more = [f"{design} batch576 bf16" for design in rows]
    np.testing.assert_array_equal(fixed.evaluate(rows).objectives, fixed.evaluate(more).objectives)
    with pytest.raises(InputError, match="is none of the"):
        fixed.evaluate(f"{rows[0]} batch512")


@pytest.mark.slow
def test_dragonflies_and_hyperx_are_searched_where_a_file_names_them() -> None:
    """Beyond its switch an NPU has half of its bandwidth, so that a plan takes longer than on a fat tree."""
    families = ("fat-tree", "dragonfly", "hyperx")
    fabric = {"switches": "qm9700", "families": families, "ratio": {"leaf": 1, "pod": 1}}
    direct = order_problem(systems=["hgx-h100"], npus=576, fabric=fabric)
    assert direct.book is not None
    texts = [direct.book.notation(place) for place in range(len(direct.book))]
    one_port = [f"72 hgx-h100 / 1 x 400G / qm9700 {name} 1:1" for name in ("fat tree", "dragonfly", "hyperx")]
    assert [text for text in texts if "1 x 400G" in text] == one_port
    plan = direct.notation.written(direct.decode(direct.genome.sample(np.random.Generator(np.random.PCG64(1)), 1)))
    tree, dragonfly, hyperx = (
        float(direct.evaluate(direct.read(f"{text} | {plan[0].partition(' | ')[2]}")).objectives[0, 0])
        for text in one_port
    )
    assert tree <= hyperx < dragonfly
    for row in search(direct).rows():
        assert not broken_rules(row["design"].partition(" | ")[0], catalogue())


def test_an_order_of_a_system_that_no_plan_fits_says_so() -> None:
    """An H100 has 80 GB and a GB200 186 GB: 30 layers of 4,096 on one NPU, whole, fit the second alone."""
    data = order_data()
    workload = {**data["workloads"][0], "parallelism": {"tp": 1, "pp": 1}}
    workload["training"] = {**workload["training"], "recompute": "none", "micro_batch": 1, "zero": 0}
    problem = load_problem({**data, "workloads": [workload]})
    text = "72 hgx-h100 / 1 x 400G / qm9700 fat tree 1:1"
    with pytest.raises(
        InputError, match=f"the order '{text}' has no plan because none of the file fits hgx-h100: "
    ) as told:
        problem.evaluate(f"{text} | dp576 mb1 zero0")
    assert "needs" in str(told.value)
    assert "where the file allows" not in str(told.value)


@pytest.mark.parametrize(
    ("workload", "key"),
    [
        (
            {"training": {"sequence": 4096, "global_batch": 128, "precision": "mxfp8"}},
            "precision: found mxfp8",
        ),
        ({"serving": {"input": 64, "output": 8, "concurrency": 8, "weights": "mxfp4"}}, "weights: found mxfp4"),
    ],
)
def test_what_an_accelerator_lacks_is_said_once_of_the_chip(workload: dict[str, Any], key: str) -> None:
    """And not of each number of systems that has it."""
    data = order_data(systems=["gaudi3-8", "hgx-h100"], npus=[64, 128], workloads=[{"model": "llama-3-8b", **workload}])
    with pytest.raises(InputError) as told:
        load_problem(data)
    said = [mistake.message for mistake in told.value.mistakes]
    assert [text.partition(";")[2].split()[0] for text in said] == ["gaudi3", "h100-80gb"]
    assert key in str(told.value)


def test_figures_of_an_accelerator_are_those_of_the_pool_that_has_it() -> None:
    """So that runs of earlier versions are of the same problems."""
    figures = problem().spec["accelerator"]
    assert figures[0]["name"] == "72xhgx-h100-8"
    assert all("chip" not in one for one in figures)


@pytest.mark.parametrize("given", [[], {}, 3, "ordr"])
def test_a_question_of_any_shape_is_refused_at_its_key(given: Any) -> None:
    with pytest.raises(InputError, match=r"question: unknown question .*allowed: design, order"):
        load_problem(order_data(question=given))
