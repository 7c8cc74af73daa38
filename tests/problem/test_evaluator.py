"""Parts of figures that plans and spares decide, worked by hand, and parts that a file lacks."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from evo_libra.arrays import Population
from evo_libra.problem.evaluator import NO_SOURCES, Evaluator, FigureSources
from evo_libra.problem.figures import TrainingFigures
from evo_libra.problem.time_models.time_model import TimeModel


def designs(plan: list[list[int]] | None = None, spares: list[int] | None = None) -> Population:
    one = np.ones((1, 2), dtype=np.int64)
    return Population(
        8 * one, 0 * one, 0 * one, 1e9 * one, plan=None if plan is None else np.array(plan),
        spares=None if spares is None else np.array(spares),
    )  # fmt: skip


def test_spares_have_as_much_network_as_npus_at_work() -> None:
    evaluator = Evaluator(8, *cast("Any", [None] * 2), (), (), NO_SOURCES)
    assert evaluator.of_spares(designs(spares=[0, 2])).tolist() == [1.0, 1.25]  # 1 + 2 / 8
    assert evaluator.of_spares(designs()).tolist() == [1.0, 1.0]


def test_plans_of_designs_say_memory_and_tokens() -> None:
    table = SimpleNamespace(memory=np.array([2.0, 9.0]), tokens=np.array([100.0, 30.0]))
    loops = (SimpleNamespace(workload=table, weight=2.0),)
    time = cast("TimeModel", SimpleNamespace(tables=(table,), open_loops=loops))
    sources = FigureSources(training=TrainingFigures(np.array([4.0]), 1000.0))
    found = sources.trained(time, designs(plan=[[0, 1]]))
    assert found is not None
    # The workload that needs most memory decides: max(4, 2) and max(4, 9).
    assert found.memory.tolist() == [4.0, 9.0]
    # Tokens of all workloads add up, times their weights: 1000 + 2 x 100 and 1000 + 2 x 30.
    assert np.asarray(found.tokens).tolist() == [1200.0, 1060.0]


def test_a_part_that_a_file_lacks_is_neutral() -> None:
    sources, some = NO_SOURCES, designs()
    assert sources.spares == (0,)
    assert sources.npu.figures(some.technology) == (None, None, None)
    assert (sources.npu.several, sources.npu.names) == (False, ())
    assert sources.system.pieces(some).shape == (0, 2)
    assert sources.system.totals(sources.system.pieces(some)) == (None, None)
    assert sources.system.lacking("price") == []
