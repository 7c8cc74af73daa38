"""What is bought around a network, row by row, and plans that are nearest to genes, by hand."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from evo_libra.arrays import Population
from evo_libra.network.blocks import Range
from evo_libra.problem.npu_choice import NpuChoice
from evo_libra.problem.sections.workload import PlanGenes
from evo_libra.problem.system import Fixed, Hosts, MemoryOfPlans, OfPlans
from evo_libra.problem.system_bill import SystemBill

PRICE = Range(1.0, 2.0, 4.0)


def designs(spares: list[int] | None = None, plans: list[int] | None = None) -> Population:
    """Return designs of 4 and of 6 NPUs, whose outermost technologies are 0 and 1."""
    npus = np.array([[4, 3], [1, 2]])
    return Population(
        npus, np.zeros_like(npus), np.array([[0, 0], [1, 1]]), np.ones(npus.shape), None,
        np.array([plans or [0, 0]]), None if spares is None else np.array(spares),
    )  # fmt: skip


def test_hosts_hold_all_npus_with_the_spare_ones() -> None:
    row = Hosts("hosts", "host", PRICE, 3.0, "k", "s", npus=4)
    assert row.pieces(designs()).tolist() == [1.0, 2.0]
    assert row.pieces(designs([1, 2])).tolist() == [2.0, 2.0]
    assert Fixed("storage", "TB", PRICE, 3.0, "k", "s", count=5.0).pieces(designs()).tolist() == [5.0, 5.0]


def test_what_plans_need() -> None:
    def row(**given: object) -> OfPlans:
        usual = {"count": 3.0, "needed": np.array([False, True]), "table": 0}
        return OfPlans("SSDs", "SSD", PRICE, 1.0, "k", "s", **{**usual, **given})  # type: ignore[arg-type]

    some = designs(plans=[1, 0])
    assert row().pieces(some).tolist() == [3.0, 0.0]
    # Three for each host of 2 NPUs.
    assert row(host_npus=2).pieces(designs(plans=[1, 1])).tolist() == [6.0, 9.0]
    # NICs of servers in the technology of the outermost dimension.
    assert row(outermost=(1,)).pieces(designs(plans=[1, 1])).tolist() == [0.0, 3.0]
    assert row(table=None, needed=np.array([True])).pieces(designs()).tolist() == [3.0, 3.0]
    assert row().pinned([1]).pieces(designs()).tolist() == [3.0, 3.0]
    assert row().pinned([0]).pieces(designs()).tolist() == [0.0, 0.0]


def test_expansion_memory_is_that_of_the_plan_with_the_most() -> None:
    each = ((np.array([1.0, 5.0]), 0), (np.array([3.0]), None))
    row = MemoryOfPlans("expansion", "GB", PRICE, 1.0, "k", "s", each)
    # 3 GB and 5 GB of each of 4 and 6 NPUs.
    assert row.pieces(designs(plans=[0, 1])).tolist() == [12.0, 30.0]
    assert row.pinned([1]).pieces(designs()).tolist() == [20.0, 30.0]


def test_totals_of_a_bill() -> None:
    hosts = Hosts("hosts", "host", PRICE, 3.0, "k", "s", npus=4)
    unknown = Fixed("storage", "TB", None, None, "k", "s", count=5.0)
    bill = SystemBill((hosts, Fixed("storage", "TB", Range(10.0, 10.0, 10.0), 1.0, "k", "s", count=5.0)))
    pieces = bill.pieces(designs())
    usd, watts = bill.totals(pieces)
    assert usd is not None
    assert watts is not None
    assert (usd.tolist(), watts.tolist()) == ([52.0, 54.0], [8.0, 11.0])
    assert SystemBill((hosts, unknown)).totals(pieces) == (None, None)
    assert SystemBill((hosts, unknown)).lacking("price") == [unknown]


def test_accelerators_that_technologies_are_wired_with() -> None:
    choice = NpuChoice(("a", "b"), np.array([0, 1]), np.array([80.0, 40.0]), np.array([7.0, 5.0]), None)
    technology = np.array([[0, 1, 1], [0, 0, 0]])
    assert choice.of(technology).tolist() == [0, 1, 1]
    capacity, watts, price = choice.figures(technology)
    assert watts is not None
    assert (capacity.tolist(), watts.tolist(), price) == ([80.0, 40.0, 40.0], [7.0, 5.0, 5.0], None)
    assert choice.named(technology) == ["a", "b", "b"]
    alone = NpuChoice(("a",), np.array([0, 0]), np.array([80.0]), None, None)
    assert (alone.several, alone.place(technology).tolist()) == (False, [0])


class Table(SimpleNamespace):
    """A table of plans of one accelerator."""

    def __len__(self) -> int:
        return len(self.memory)


def plans(**options: list[int]) -> PlanGenes:
    count = len(next(iter(options.values())))
    memory = np.where(np.array(options.pop("large", [0] * count)), 9.0, 1.0)
    return PlanGenes(Table(  # type: ignore[arg-type]
        memory=memory, capacity=np.full(count, 2.0), npu=np.zeros(count, dtype=np.int64),
        options={name: np.array(values) for name, values in options.items()},
    ), 0)  # fmt: skip


def nearest(genes: PlanGenes, *codes: int) -> int:
    return int(genes.nearest(np.array(codes)[:, None], np.zeros(1, dtype=np.int64))[0])


def test_genes_are_places_of_values_of_plans_that_fit() -> None:
    # tp 4 fits nowhere, and pp differs nowhere else: one gene of two places.
    some = plans(tp=[1, 2, 4], pp=[1, 1, 2], large=[0, 0, 1])
    assert [(gene.name, gene.lower, gene.upper, gene.ordered) for gene in some.genes()] == [("tp", 0.0, 1.0, True)]
    # The genes of the second workload are named by its place.
    assert [gene.name for gene in PlanGenes(some.table, 1).genes()] == ["tp[1]"]
    assert some.fitting.tolist() == [True, True, False]
    assert some.codes(np.array([1, 0])).tolist() == [[1, 0]]


def test_the_nearest_plan_has_the_least_sum_of_squared_steps() -> None:
    # Plans at (0, 0), (2, 0) and (1, 2) of tp 1, 2, 4 and pp 1, 2, 4; (1, 2) twice: the first one is taken.
    some = plans(tp=[1, 4, 2, 2], pp=[1, 1, 4, 4], x=[1, 1, 1, 1])
    assert [gene.upper for gene in some.genes()] == [2.0, 1.0]
    assert nearest(some, 2, 0) == 1
    assert nearest(some, 1, 1) == 2
    # (0, 1): one step of pp from plan 0, one of tp from plan 2: the first.
    assert nearest(some, 0, 1) == 0


def test_virtual_stages_count_less_than_any_other_step() -> None:
    # vp 1 with tp 1, vp 8 with tp 2: at tp 2 and vp 1, plan 1 is seven places of vp away and still nearer.
    some = plans(tp=[1, 2, 1, 1, 1], vp=[1, 8, 2, 3, 4])
    assert nearest(some, 1, 0) == 1
    assert nearest(some, 0, 4) == 4
