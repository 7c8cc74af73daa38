"""Layers of every stage of a pipeline, and the microbatches that wait on them for the backward pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.workload.models.decoder import Decoder
from evo_libra.workload.models.layer_stack import Counted
from evo_libra.workload.plans.plans import DUALPIPE, ONE_F_ONE_B, ZB_H2, Plans
from evo_libra.workload.training.training_setup import Ends, Setup


def layers_of_stages(setup: Setup, stages: int, chunks: int) -> list[list[range]]:
    """Return the layers of each virtual stage of each stage.

    Microbatches pass the first virtual stages of all stages, then the second ones and so on. Embedding and loss take
    the place of a layer where they are counted. Of stages that are not equal, those with what is counted are the
    longer ones, so that no stage has more layers than the longest one of the formula; otherwise the first ones are.
    """
    return _layers_of_stages(setup.decoder.layers, setup.decoder.predictors, setup.ends, stages, chunks)


def _layers_of_stages(layers: int, predictors: int, ends: Ends, stages: int, chunks: int) -> list[list[range]]:
    slots = layers + sum(ends)
    sizes = [list(_shares(size, chunks, range(chunks))) for size in _shares(slots, stages, _longer(stages, ends))]
    found: list[list[range]] = [[] for _ in range(stages)]
    start = -ends[0]
    for chunk in range(chunks):
        for stage in range(stages):
            stop = start + sizes[stage][chunk]
            found[stage].append(range(max(start, 0), min(stop, layers)))
            start = stop
    # Layers that predict further tokens follow the last one.
    last = found[-1][-1]
    found[-1][-1] = range(last.start if last else layers, layers + predictors)
    return found


def _longer(stages: int, ends: Ends) -> list[int]:
    """Return the stages, those first that are to be longer."""
    if not ends[1]:
        return list(range(stages))
    return [0, *range(stages - 1, 0, -1)] if ends[0] else list(range(stages - 1, -1, -1))


def _shares(total: int, parts: int, first: range | list[int]) -> Iterator[int]:
    """Yield the sizes of some parts of a total; what is left over goes to the first ones in some order."""
    longer = set(first[: total % parts])
    for part in range(parts):
        yield total // parts + (part in longer)


def chunks_in_flight(stages: int, chunks: int, microbatches: int, schedule: int = ONE_F_ONE_B) -> IntArray:
    """Return (stages, chunks) microbatches whose activations wait on each virtual stage when the most of them do.

    Stage i of 1F1B has min(m, p - i), and so has DualPipe in each of its directions. An interleaved one starts with
    2 (p - i - 1) + (v - 1) p passes and runs one more: p microbatches on its first virtual stage, p on the second one,
    and so on (Narayanan et al. 2021, 2.2). All stages of ZB-H1 have p, and of ZB-H2 2 p - 1, until the gradients of
    weights have run, which need about as much of a microbatch as the rest of its backward pass (Qi et al. 2024).

    >>> chunks_in_flight(4, 1, 3)[:, 0].tolist(), chunks_in_flight(4, 2, 8).tolist()
    ([3, 3, 2, 1], [[7, 4], [5, 4], [4, 3], [4, 1]])
    >>> chunks_in_flight(4, 1, 8, ZB_H2)[:, 0].tolist()
    [7, 7, 7, 7]
    """
    if schedule not in (ONE_F_ONE_B, DUALPIPE):
        most = 2 * stages - 1 if schedule == ZB_H2 else stages
        return np.full((stages, 1), min(most, microbatches))
    stage, chunk = np.arange(stages)[:, None], np.arange(chunks)
    if chunks == 1:
        return np.minimum(stages - stage, microbatches)
    passes = 2 * (stages - stage - 1) + (chunks - 1) * stages + 1
    first_round = np.clip(passes - chunk * stages, 0, stages)
    second_round = np.clip(passes - (chunks + chunk) * stages, 0, stages)
    return np.asarray(np.minimum(first_round + second_round, microbatches))


@dataclass(frozen=True)
class StageLoads:
    """Layers and microbatches of stages; every array is (s, n), for each plan the stages that can be the fullest.

    Attributes
    ----------
    layers : layers of each kind, and layers that predict further tokens.
    waiting : the same, each as often as microbatches wait on it.
    tables : how many of embedding and output head.
    loss : 1 on the last stage.
    """

    layers: tuple[FloatArray, ...]
    waiting: tuple[FloatArray, ...]
    tables: FloatArray
    loss: FloatArray


def stage_loads(setup: Setup, plans: Plans) -> StageLoads:
    """Return what stages hold that can be the fullest."""
    model = setup.decoder
    # Beyond two microbatches for each stage, no more wait.
    micro = np.minimum(np.ceil(plans.microbatches(setup.global_batch)), 2.0 * plans.pp).astype(np.int64)
    kind, stages, chunks, micro = np.broadcast_arrays(plans.schedule, plans.pp, plans.vp, micro)
    keys, place = np.unique((kind << 60) + (stages << 40) + (chunks << 20) + micro, return_inverse=True)
    cases = [_loads(model, setup.ends, *(int(k >> bits & 0xFFFFF) for bits in (40, 20, 0, 60))) for k in keys]
    most = max(len(case) for case in cases)
    # A stage counts twice where other plans have more candidates.
    table = np.stack([np.pad(case, ((0, most - len(case)), (0, 0)), mode="edge") for case in cases])
    found = np.ascontiguousarray(table[place.ravel()].transpose(2, 1, 0))
    kinds = (len(found) - 2) // 2
    return StageLoads(tuple(found[:kinds]), tuple(found[kinds:-2]), found[-2], found[-1])


def shorter_last_stage(setup: Setup, plans: Plans) -> FloatArray:
    """Return (n,) how many layers the last stage has less than the longest; 0 where the loss counts as a layer."""
    layers = setup.decoder.layers
    last = (layers + sum(setup.ends)) // plans.pp
    return np.zeros(1) if setup.shares_head else np.maximum(np.ceil(layers / plans.pp) - last, 0.0)


def share_of_fill(setup: Setup, plans: Plans) -> FloatArray:
    """Return (n,) time in which a microbatch passes all other stages, over that of as many of the longest one.

    Stages that count embedding or loss are taken as equal.
    """
    longest, others = np.ceil(setup.decoder.layers / plans.pp), np.maximum(plans.pp - 1, 1)
    share = (setup.decoder.layers - longest) / (longest * others)
    return np.where(plans.pp > 1, share, 1.0) if not any(setup.ends) else np.ones(1)


def parts_of(model: Decoder, counts: tuple[FloatArray, ...]) -> list[Counted]:
    """Return the sublayers of some numbers of layers of each kind and of predictors, as `StageLoads` has them."""
    kinds = len(model.stack.kinds)
    return [*model.stack.parts(counts[:kinds]), *predictor_parts(model, counts[kinds])]


def predictor_parts(model: Decoder, count: FloatArray) -> list[Counted]:
    """Return the sublayers of (n,) layers that predict further tokens; none of a model without them."""
    return [(count, part) for part in model.predictor] if model.predictors else []


@lru_cache(maxsize=1 << 15)
def _loads(model: Decoder, ends: Ends, stages: int, chunks: int, microbatches: int, schedule: int) -> FloatArray:
    """Return (s, c) layers, waiting layers, tables and loss of the stages that hold no less of all than another one."""
    layers = _kinds_of_stages(model, ends, stages, chunks)
    waiting = (layers * chunks_in_flight(stages, chunks, microbatches, schedule)).sum(axis=2)
    first, last = np.eye(stages)[0], np.eye(stages)[-1]
    tables = first + last * (stages > 1 or not model.tied)
    every = np.column_stack([*layers.sum(axis=2), *waiting, tables, last])
    if schedule == DUALPIPE:
        # Each rank has the stage that is as far from the other end, too.
        every = every + every[::-1]
    no_less = (every[:, None] >= every).all(axis=2)
    # Of equal stages the first one remains.
    beaten = no_less & (~no_less.T | np.tri(stages, k=-1, dtype=np.bool_).T)
    return np.asarray(every[~beaten.any(axis=0)])


@lru_cache(maxsize=1 << 12)
def _kinds_of_stages(model: Decoder, ends: Ends, stages: int, chunks: int) -> FloatArray:
    """Return (kinds + 1, stages, chunks) layers of each kind, and those that predict further tokens."""
    order = [*model.stack.order, *[len(model.stack.kinds)] * model.predictors]
    ones = np.eye(len(model.stack.kinds) + 1)[np.asarray(order)]
    before = np.concatenate([np.zeros((1, ones.shape[1])), ones.cumsum(axis=0)])
    ranges = _layers_of_stages(model.layers, model.predictors, ends, stages, chunks)
    limits = np.array([[(one.start, max(one.stop, one.start)) for one in stage] for stage in ranges])
    # Advice tries plans that have more virtual stages than layers, too; the last of them are empty.
    limits = np.minimum(limits, len(order))
    return np.asarray((before[limits[..., 1]] - before[limits[..., 0]]).transpose(2, 0, 1))
