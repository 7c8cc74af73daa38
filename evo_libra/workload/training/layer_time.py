"""Compute and communication of sublayers, for one microbatch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.workload.models.kernels import Array, Kernels, Product, scaled
from evo_libra.workload.models.layer_stack import Counted, DecoderLayer
from evo_libra.workload.models.layers.kept import NORM
from evo_libra.workload.models.layers.sublayer import Matrix, Share, Sublayer
from evo_libra.workload.plans.plans import Plans
from evo_libra.workload.plans.recomputation import FULL, OPERATIONS, SELECTIVE, kind_of, modules_of, runs_again
from evo_libra.workload.training.training_setup import Setup
from evo_libra.workload.training.wide_layers import wide_share

_NONE = np.zeros(1)

_PAIR = 2
"""NPUs of a context parallel group up to which attention is as fast as alone."""


@dataclass(frozen=True)
class LayerTime:
    """Seconds of compute of some sublayers; every array is (n,).

    Attributes
    ----------
    forward, backward : of the passes, without recomputation.
    recomputed : of what the backward pass runs again of the forward pass.
    products : the linear layers within, whose compute can hide communication.
    """

    forward: FloatArray
    backward: FloatArray
    recomputed: FloatArray
    products: Product


def share_of(plans: Plans) -> Share:
    """Return the share of a sublayer that an NPU has under each plan."""
    tp = plans.tp.astype(float)
    return Share(tp, plans.ep.astype(float), tp)


def layer_time(setup: Setup, plans: Plans, parts: Sequence[Counted]) -> LayerTime:
    """Return the compute of some sublayers: products, the work among tokens, and element-wise kernels."""
    # A group that exchanges heads has whole sequences in one kernel.
    ring = np.where((plans.cp > _PAIR) & ~plans.ulysses, 1.0 / setup.stack.ring_attention, 1.0)
    products, cores, elements = Product(_NONE, _NONE, _NONE), (_NONE, _NONE), (_NONE, _NONE)
    tokens, share = plans.tokens(setup.sequence), share_of(plans)
    # Collectives alongside products take some of the processors.
    slowed = np.where(plans.overlap_tp & (plans.tp > 1), 1.0 / (1.0 - setup.stack.taken), 1.0)
    common = 11.0 * setup.decoder.hidden / np.where(plans.sequence_parallel, plans.tp, 1)
    named, again = modules_of(np.unique(plans.recompute).tolist()), _NONE
    for count, part in parts:
        products = products + _products(setup, plans, part.matrices(share)) * (count * slowed)
        again = again + count * _named(setup, plans, part, named)
        for core in part.cores(share, setup.sequence):
            cores = _plus(cores, core.seconds(setup.kernels, tokens, fused=setup.fused_attention), count * ring)
        # Each part has a norm and a residual addition with dropout, too.
        forward, backward = (setup.kernels.moved(tokens * (common + moved)) for moved in part.moved(share))
        elements = _plus(elements, (forward, backward), count)
    scale = setup.stack.compute_in(setup.precision)
    forward = scale * (products.forward + cores[0] + elements[0])
    backward = scale * (products.backward + cores[1] + elements[1])
    kind, unfused = kind_of(plans.recompute), cores[0] * (not setup.fused_attention)
    # Operation by operation half of the products run again, and all element-wise kernels.
    by_operation = 0.5 * products.forward + elements[0] + unfused
    again = again + np.where(kind == SELECTIVE, unfused, np.where(kind == OPERATIONS, by_operation, 0.0))
    recomputed = np.where(kind == FULL, forward, scale * again)
    return LayerTime(forward, backward, recomputed, products * scale)


_NORM_MOVED = 4.0
"""Bytes of each element of the stream that a norm reads and writes."""


def _named(setup: Setup, plans: Plans, part: Sublayer, modules: Sequence[str]) -> FloatArray:
    """Return (n,) seconds of the modules of a sublayer that run again, of those that some plan names."""
    tokens, share, found = plans.tokens(setup.sequence), share_of(plans), _NONE
    split = np.where(plans.sequence_parallel, plans.tp, 1)
    for module in modules:
        matrices, moved = part.again(share, module)
        moved = moved + (_NORM_MOVED * setup.decoder.hidden / split if module == NORM else 0.0)
        seconds = setup.kernels.moved(tokens * moved)
        seconds = seconds + _products(setup, plans, matrices).forward if matrices else seconds
        found = found + np.where(runs_again(plans.recompute, module), seconds, 0.0)
    return found


def collectives_again(plans: Plans, part: Sublayer) -> FloatArray:
    """Return (n,) 1 where all of a sublayer runs again with its collectives, and 0 elsewhere."""
    full = plans.recompute == FULL
    return np.where(full | runs_again(plans.recompute, part.block) if part.block else full, 1.0, 0.0)


Passes = tuple[FloatArray, FloatArray]
"""(n,) seconds forwards and backwards."""


def _plus(times: Passes, more: Passes, count: Array) -> Passes:
    return times[0] + count * more[0], times[1] + count * more[1]


def _products(setup: Setup, plans: Plans, matrices: Sequence[Matrix]) -> Product:
    """Return the time of the products of a sublayer, of the stage with most layers that stay in bf16."""
    tokens, wide = plans.tokens(setup.sequence), wide_share(setup, plans)

    def within(precision: str) -> Product:
        times = (matrix_time(setup.kernels, matrix, tokens, precision) for matrix in matrices)
        return sum(times, next(times))

    narrow = within(setup.products)
    return narrow * (1.0 - wide) + within("bf16") * wide if wide.any() else narrow


def matrix_time(kernels: Kernels, matrix: Matrix, tokens: FloatArray, precision: str) -> Product:
    """Return the time of the products of some tokens with equal matrices, in a precision unless they have their own."""
    return (
        kernels.product(scaled(tokens, matrix.rows), matrix.n, matrix.k, matrix.precision or precision) * matrix.count
    )


def one_layer(layer: DecoderLayer) -> list[Counted]:
    """Return the sublayers of a layer, one of each place."""
    return [(np.ones(1), part) for part in layer]


@dataclass(frozen=True)
class PartTraffic:
    """Collectives of a sublayer for one microbatch; every array is (n,).

    Attributes
    ----------
    reduces : whether the tensor parallel group reduces its outputs; routed experts have an all-to-all instead.
    context : bytes that the context parallel group gathers in the forward pass, keys and values of attention; the
        backward pass gathers and scatters them. It is 0 for nothing.
    exchanged : bytes of an NPU that it exchanges for heads instead, before attention and after it; the backward pass
        exchanges the gradients of both.
    expert : bytes of an NPU's tokens on the way to their experts, or back; `per_token` : experts of a token.
    """

    reduces: bool
    context: FloatArray
    expert: FloatArray
    per_token: int
    exchanged: tuple[FloatArray, FloatArray] = (_NONE, _NONE)


def reduced_bytes(setup: Setup, plans: Plans) -> FloatArray:
    """Return (n,) bytes of an all-reduce of the tensor parallel group.

    With sequence parallelism it is a reduce-scatter and all-gather, which are as many bytes (Korthikanti et al. 2022,
    section 4.2.2). A collective of few bytes does not reach the bandwidth of a large one, and counts for
    more of them.
    """
    return setup.counted(2.0 * plans.tokens(setup.sequence) * setup.decoder.hidden, plans.tp)


def part_traffic(setup: Setup, plans: Plans, part: Sublayer) -> PartTraffic:
    """Return the communication of a sublayer."""
    tokens, npus, sequences = plans.tokens(setup.sequence), plans.cp.astype(float), plans.micro_batch.astype(float)
    gathered = np.asarray(part.gathered(share_of(plans), tokens * npus, sequences, npus))
    # Its ring exchanges blocks between kernels of attention, which no measured small collective stands for.
    padding = 0.0 if setup.bus is None else setup.bus.half_message
    context = np.where(plans.ulysses, 0.0, gathered + padding) if gathered.any() else _NONE
    before, after = (np.where(plans.ulysses, tokens * bytes_, 0.0) for bytes_ in part.exchanged(share_of(plans)))
    copies = tokens / plans.tp * part.per_token if part.per_token else _NONE
    return PartTraffic(part.reduces, context, 2.0 * setup.decoder.hidden * copies, part.per_token, (before, after))
