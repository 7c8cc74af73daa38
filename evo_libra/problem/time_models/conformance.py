"""Checks that any time model must pass, on designs of a problem; for the tests of this package and of other people's.

In a test of your own: ``assert faults(problem.time, designs) == []``, where some plans are open and where none is.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from evo_libra.arrays import FloatArray, Population
from evo_libra.problem.time_models.time_model import TimeModel

_CLOSE = 1e-9


def faults(time: TimeModel, designs: Population) -> list[str]:
    """Return what is wrong with a time model, a sentence each; its designs can hold all process groups."""
    given = time.times(designs)
    times = [*given.workloads, *given.first, *given.token]
    if any(one.shape != (len(designs),) or not (np.isfinite(one) & (one > 0)).all() for one in times):
        return ["some times are not above 0 and finite, one of each design"]
    return [
        *_words(time),
        *_population(time, designs, given.workloads),
        *_bounds(time, designs, given.workloads),
        *_plans(time, designs, given.workloads),
        *_schedules(time, designs),
    ]


def _words(time: TimeModel) -> Iterator[str]:
    for text in (time.title, *time.leaves_out):
        if not text or text != text.strip() or text.endswith("."):
            yield f"'{text}' is no part of a sentence"


def _population(time: TimeModel, designs: Population, times: Sequence[FloatArray]) -> Iterator[str]:
    single = [time.workload_times(designs.select([n])) for n in range(len(designs))]
    if not _close(times, [np.concatenate(rows) for rows in zip(*single, strict=True)]):
        yield "the time of a design depends on the others of its population"
    known = time.traffic(designs.npus, designs.technology, designs.plan)
    if not _close(times, time.workload_times(designs, known)):
        yield "the time of a design whose traffic is known is another one"
    sent = pickle.loads(pickle.dumps(time))  # noqa: S301 - pickled in this line
    if not _close(times, sent.workload_times(designs)):
        yield "a worker process would have other times"


def _bounds(time: TimeModel, designs: Population, times: Sequence[FloatArray]) -> Iterator[str]:
    bound = time.lower_bound
    if bound is not None and not bound.exact:
        yield "the lower bound is not exact"
    elif bound is not None and _any_above(bound.workload_times(designs), times):
        yield "the lower bound is slower"
    if not time.schedules.scheduled:
        faster = time.workload_times(replace(designs, bandwidth=2.0 * designs.bandwidth))
        if _any_above(faster, times):
            yield "a design is slower with twice the bandwidth"


def _plans(time: TimeModel, designs: Population, times: Sequence[FloatArray]) -> Iterator[str]:
    for n in range(len(designs) if time.tables else 0):
        one = time.pinned(designs.plans[:, n].tolist())
        mine = replace(designs.select([n]), plan=None)
        if not _close(one.workload_times(mine), [row[n : n + 1] for row in times]):
            yield f"design {n} has another time where its plan is the only one"


def _schedules(time: TimeModel, designs: Population) -> Iterator[str]:
    genes = time.schedules.genes_of(designs.schedule, designs.block)
    if not time.schedules.covers(genes, designs.npus).all():
        yield "the schedules of some designs are none of the choices"
    back = time.schedules.schedule(np.maximum(genes, 0), designs.block)
    again = time.workload_times(replace(designs, schedule=back))
    if not _close(time.workload_times(designs), again):
        yield "genes of schedules stand for others"


def _close(some: Sequence[FloatArray], others: Sequence[FloatArray]) -> bool:
    return bool(np.allclose(some, others, rtol=_CLOSE, atol=0.0))


def _any_above(some: Sequence[FloatArray], others: Sequence[FloatArray]) -> bool:
    return bool((np.array(some) > np.array(others) * (1.0 + _CLOSE)).any())
