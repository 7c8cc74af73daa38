"""Passes through one layer as execution traces write them: computations, and collectives around and alongside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.collective import Collective
from evo_libra.workload.models.layer_stack import DecoderLayer
from evo_libra.workload.plans.plans import Plans
from evo_libra.workload.plans.recomputation import FULL
from evo_libra.workload.training.layer_time import (
    PartTraffic,
    collectives_again,
    layer_time,
    one_layer,
    part_traffic,
    reduced_bytes,
)
from evo_libra.workload.training.races import CONTEXT, EXPERT, TENSOR
from evo_libra.workload.training.stage import hidden_share
from evo_libra.workload.training.training_setup import Setup


@dataclass(frozen=True)
class Sent:
    """A collective of a process group, and the bytes of the whole message, of an all-gather of the gathered one."""

    group: str
    collective: Collective
    size: float


@dataclass(frozen=True)
class LayerPass:
    """A pass of a microbatch through a layer.

    Attributes
    ----------
    name : forward, recomputed or backward.
    compute : seconds; the last `window` of them run alongside `hidden`.
    before, after : collectives that nothing hides.
    """

    name: str
    compute: float
    window: float
    before: tuple[Sent, ...]
    hidden: tuple[Sent, ...]
    after: tuple[Sent, ...]


@dataclass(frozen=True)
class LayerPasses:
    """The passes of a microbatch through a layer: the forward one, and what its backward one consists of."""

    forward: tuple[LayerPass, ...]
    backward: tuple[LayerPass, ...]


def layer_passes(setup: Setup, plans: Plans, layer: DecoderLayer) -> LayerPasses:
    """Return the passes through a layer under the first plan.

    They have the compute and the bytes of the step's formula. If it counts collectives as others of as many bytes,
    these are what training software runs: the backward pass scatters what the context parallel group has gathered, and
    sequence parallelism gathers again for the gradients of weights.
    """
    time = layer_time(setup, plans, one_layer(layer))
    sent = [part_traffic(setup, plans, part) for part in layer]
    tensor = (number(reduced_bytes(setup, plans)),) * sum(one.reduces for one in sent)
    full = bool(plans.recompute[0] == FULL)
    # If a part of a layer runs again, the backward pass has the collectives of that part.
    repeated = [] if full else [
        one for one, part in zip(sent, layer, strict=True) if number(collectives_again(plans, part))
    ]  # fmt: skip
    tensor_again = tensor[: sum(one.reduces for one in repeated)]
    split, overlap = bool(plans.sequence_parallel[0]), bool(plans.overlap_tp[0])
    reduced, again = _reduced(tensor, split=split), _gathered_again(tensor, split=split)
    reduced_backward = _reduced((*tensor, *tensor_again), split=split)
    # Without overlap a stack may gather again alongside the gradients of weights.
    aside = again if split and not overlap and setup.stack.hides_gather else ()
    exposed = 1.0 - number(hidden_share(setup, plans))
    tokens, tokens_again = _tokens(sent), _tokens(repeated)
    contexts = [number(one.context) for one in sent if one.context.any()]
    gather = tuple(Sent(CONTEXT, Collective.ALL_GATHER, size) for size in contexts)
    scatter = tuple(Sent(CONTEXT, Collective.REDUCE_SCATTER, size) for size in contexts)
    there, back = (_exchanged(sent, place) for place in (0, 1))
    products = number(time.products.forward)

    def one(
        name: str, compute: FloatArray, window: float, tensor: tuple[Sent, ...], *ends: tuple[Sent, ...]
    ) -> LayerPass:
        heads = (there, back) if name == "forward" else (back, there)
        hidden, waiting = parts(tensor, 1.0 - exposed), parts(tensor, exposed)
        return LayerPass(
            name=name, compute=number(compute), window=window, before=(*gather, *heads[0]), hidden=hidden,
            after=(*heads[1], *waiting, *tokens, *(s for e in ends for s in e)),
        )  # fmt: skip

    forward = one("forward", time.forward, products, reduced)
    ends = (*scatter, *tokens_again)
    backward = one("backward", time.backward, number(time.products.backward), (*reduced_backward, *again), ends)
    if aside:
        backward = one("backward", time.backward, number(time.products.weights), reduced_backward, ends)
        backward = replace(backward, hidden=aside)
    if full:
        return LayerPasses((forward,), (replace(forward, name="recomputed"), backward))
    core = number(time.recomputed)
    selected = (LayerPass(name="recomputed", compute=core, window=0.0, before=(), hidden=(), after=()),) if core else ()
    return LayerPasses((forward,), (*selected, backward))


def number(array: FloatArray) -> float:
    """Return the number of the first plan."""
    return float(np.ravel(array)[0])


def parts(sent: tuple[Sent, ...], share: float) -> tuple[Sent, ...]:
    """Return a share of the bytes of each of some collectives; none of nothing."""
    return tuple(replace(one, size=share * one.size) for one in sent) if share else ()


def _reduced(tensor: tuple[float, ...], *, split: bool) -> tuple[Sent, ...]:
    """Return the all-reduces of a pass; sequence parallelism scatters and gathers in their place."""
    kinds = (Collective.REDUCE_SCATTER, Collective.ALL_GATHER) if split else (Collective.ALL_REDUCE,)
    return tuple(Sent(TENSOR, kind, size) for size in tensor for kind in kinds)


def _gathered_again(tensor: tuple[float, ...], *, split: bool) -> tuple[Sent, ...]:
    return tuple(Sent(TENSOR, Collective.ALL_GATHER, size) for size in tensor) if split else ()


def _exchanged(sent: Sequence[PartTraffic], place: int) -> tuple[Sent, ...]:
    """Return what a context parallel group exchanges for heads before attention (0), or after it (1)."""
    sizes = (number(one.exchanged[place]) for one in sent)
    return tuple(Sent(CONTEXT, Collective.ALL_TO_ALL, size) for size in sizes if size)


def _tokens(sent: Sequence[PartTraffic]) -> tuple[Sent, ...]:
    """Return the exchanges of a pass that take tokens to their experts and back."""
    sizes = [number(one.expert) for one in sent if one.per_token]
    return tuple(Sent(EXPERT, Collective.ALL_TO_ALL, size) for size in sizes for _ in ("there", "back"))
