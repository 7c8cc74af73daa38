"""A decoding step: one token for each of some sequences, through one layer or the head."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.workload.models.kernels import Array
from evo_libra.workload.models.layers.sublayer import Matrix, Share, StepWork, Sublayer
from evo_libra.workload.plans.plans import Plans
from evo_libra.workload.serving.experts import in_step, routed
from evo_libra.workload.serving.serving_plans import with_split_experts
from evo_libra.workload.serving.serving_setup import ServingSetup


@dataclass(frozen=True)
class PartStep:
    """Seconds of a sublayer in a decoding step; every array is (n,).

    Attributes
    ----------
    products : of its matrix products; `flop` : what these take for their FLOP alone.
    cache : of attention, which reads the cache of keys and values.
    """

    products: FloatArray
    flop: FloatArray
    cache: FloatArray


def sequences(plans: Plans) -> FloatArray:
    """Return (n,) sequences that a stage decodes at a time: the stages of a pipeline share out a replica's users."""
    return np.asarray(np.ceil(plans.micro_batch / plans.pp))


def step_share(plans: Plans) -> Share:
    """Return the share of a sublayer that an NPU has in serving; routers see every token on every NPU."""
    split = with_split_experts(plans)
    return Share(split.tp.astype(float), split.ep.astype(float))


def part_step(setup: ServingSetup, plans: Plans, part: Sublayer) -> PartStep:
    """Return the time of a sublayer with the average context of a request."""
    rows, share = sequences(plans), step_share(plans)
    matrices = part.step_matrices(share)
    some, experts = [matrix for matrix in matrices if not matrix.routed], routed(matrices)
    products = sum((matrix_step(setup, matrix, rows) for matrix in some), np.zeros(1))
    flop = sum((matrix_flop(setup, matrix, rows) for matrix in some), np.zeros(1))
    if experts:
        grouped, few = setup.grouped(plans, experts, rows), [_few_tokens(setup, one, rows) for one in experts]
        together = in_step(plans)
        products = products + np.where(together, grouped.all, sum(times for times, _ in few))
        flop = flop + np.where(together, grouped.flop, sum(work for _, work in few))
    work = part.step(share, setup.context, setup.cell)
    cache = np.zeros(1) if work is None else _cache_time(setup, rows, work)
    return PartStep(products, flop, cache)


def head_step(setup: ServingSetup, plans: Plans, rows: Array) -> FloatArray:
    """Return (n,) seconds of the output head for some tokens; it has the precision of the weights."""
    matrices = setup.decoder.head.matrices(step_share(plans))
    return sum((matrix_step(setup, matrix, rows) for matrix in matrices), np.zeros(1))


def matrix_step(setup: ServingSetup, matrix: Matrix, tokens: Array) -> FloatArray:
    """Return the time of the products of few tokens: the longer of FLOP and weights read, and a fixed time."""
    npu, constants = setup.accelerator, setup.accelerator.decode_constants()
    read = setup.weight_bytes * matrix.weights / (npu.memory_bandwidth * constants.bandwidth)
    return np.asarray(np.maximum(matrix_flop(setup, matrix, tokens), read) + constants.fixed)


def _few_tokens(setup: ServingSetup, matrix: Matrix, tokens: Array) -> tuple[FloatArray, FloatArray]:
    """Return the time of the products of few tokens with experts, and that of their FLOP alone.

    Tokens reach experts at random: the weights of an expert are read if a token comes to it.
    """
    npu, constants = setup.accelerator, setup.accelerator.decode_constants()
    work = tokens * matrix.flop / setup.kernels.rate(setup.expert_products)
    read = setup.expert_bytes * matrix.weights * matrix.part_read(tokens)
    time = np.maximum(work, read / (npu.memory_bandwidth * constants.bandwidth)) + constants.fixed
    return np.asarray(time), np.asarray(work)


def matrix_flop(setup: ServingSetup, matrix: Matrix, tokens: Array) -> FloatArray:
    """Return the time of the FLOP of the products of some tokens."""
    return np.asarray(tokens * matrix.flop / setup.kernels.rate(setup.products))


def _cache_time(setup: ServingSetup, rows: FloatArray, work: StepWork) -> FloatArray:
    """Return the time of work with the cache of some sequences: the longer of FLOP and bytes, and a fixed time."""
    npu, constants = setup.accelerator, setup.accelerator.decode_constants()
    compute = rows * work.flop / setup.kernels.rate("bf16")
    moved = rows * work.moved / (npu.memory_bandwidth * constants.bandwidth)
    return np.asarray(np.maximum(compute, moved) + constants.fixed)
