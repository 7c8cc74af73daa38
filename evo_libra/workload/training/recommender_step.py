"""A training step of a recommendation model: its time and its memory.

This is an approximation that no public figure of hardware validates. Its bytes of communication, and its time without
overlap where the times of compute are given, are those of the generator of LIBRA's workload. Two logs of one model on
one server are no validation, but they show which side to expect it on: MLPerf training's DLRM took 2.40 ms a step on 8
A100 in v0.7 and 1.55 ms in v1.0, and the computed steps are 31 to 38 % and 4 to 14 % shorter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.collective import Collective
from evo_libra.network.catalog.accelerator import Accelerator
from evo_libra.workload.models.kernels import Kernels, Product
from evo_libra.workload.models.recommender import Recommender
from evo_libra.workload.parallelism import ALL
from evo_libra.workload.training.memory import BUFFERS
from evo_libra.workload.training.races import StepOverlap, StepSequence, StepTime, Traffic
from evo_libra.workload.training.training_setup import GEMM_OF_ISOLATED, MEMORY_OF_PEAK

EMBEDDING_OF_PEAK = 0.5
"""Memory bandwidth that look-ups of rows at random reach, over the data sheet's (assumed)."""

_ACTIVATION_BYTES = 2.0
_STATE_BYTES = 4.0
"""Bytes of the optimizer's state of an embedding row: row-wise Adagrad has one number."""
_NONE, _ONE = np.zeros(1), np.ones(1)


@dataclass(frozen=True)
class RecommenderSetup:
    """A recommendation model, an accelerator, and how one trains the other.

    Attributes
    ----------
    global_batch : samples of a step.
    precision : of the MLPs, as the accelerator names it.
    gradient_bytes : of a gradient of a weight of the MLPs, 2 or 4.
    overlap_embedding : pooled embeddings and their gradients are exchanged alongside the passes of the bottom MLP.
    overlap_dp : gradients of the MLPs are summed alongside the backward pass.
    gemm_factor, memory_factor : the two constants that are fitted to language models.
    embedding_factor : memory bandwidth that look-ups and updates of rows reach, over the data sheet's.
    """

    model: Recommender
    accelerator: Accelerator
    global_batch: int
    precision: str = "bf16"
    gradient_bytes: int = 2
    overlap_embedding: bool = True
    overlap_dp: bool = False
    gemm_factor: float = GEMM_OF_ISOLATED
    memory_factor: float = MEMORY_OF_PEAK
    embedding_factor: float = EMBEDDING_OF_PEAK

    @property
    def kernels(self) -> Kernels:
        """Times of kernels within the step."""
        return Kernels(self.accelerator, self.gemm_factor, self.memory_factor, self.gradient_bytes)

    @property
    def row_kernels(self) -> Kernels:
        """Times of kernels that read and write rows at random."""
        return Kernels(self.accelerator, self.gemm_factor, self.embedding_factor, self.gradient_bytes)

    def batch(self, npus: IntArray | int) -> FloatArray:
        """Return (n,) samples of an NPU; not whole where the global batch does not divide."""
        return np.asarray(self.global_batch / np.atleast_1d(npus))


@dataclass(frozen=True)
class RecommenderCompute:
    """Seconds of the parts of a step that communicate nothing; every array is (n,).

    Attributes
    ----------
    look_up, update : of rows of the embedding tables.
    bottom_forward, bottom_backward : passes of the bottom MLP.
    top_forward, top_backward : passes of the interaction of features and of the top MLP.
    optimizer : of the MLPs.
    """

    look_up: FloatArray
    bottom_forward: FloatArray
    top_forward: FloatArray
    top_backward: FloatArray
    bottom_backward: FloatArray
    update: FloatArray
    optimizer: FloatArray


def recommender_compute(setup: RecommenderSetup, npus: IntArray | int) -> RecommenderCompute:
    """Return the compute of a step on each number of NPUs (n,), or on one.

    Tables are spread evenly, so that an NPU looks up as many rows as its samples need. An update reads and writes a row
    and its state. The interaction reads all features and writes the top MLP's input. Functions between the layers are
    taken as part of the products, and indices are at hand.

    Raises
    ------
    InputError : the model's look-ups are not known, or the accelerator has no kernel constants of the precision.
    """
    model, kernels, batch = setup.model, setup.kernels, setup.batch(npus)
    bottom, top = (_products(kernels, batch, mlp, setup.precision) for mlp in (model.bottom_mlp, model.top_mlp))
    rows = batch * model.look_ups
    row_bytes = float(model.embedding * model.element_bytes)
    features = _ACTIVATION_BYTES * batch * (model.bottom_mlp[-1] + model.pooled_elements)
    combined = _ACTIVATION_BYTES * batch * model.top_mlp[0]
    return RecommenderCompute(
        look_up=setup.row_kernels.moved(rows * row_bytes),
        bottom_forward=_total(product.forward for product in bottom),
        top_forward=_total(product.forward for product in top) + kernels.moved(features + combined),
        top_backward=_total(product.backward for product in top) + kernels.moved(2.0 * features + combined),
        # No layer needs the gradients of the dense features.
        bottom_backward=bottom[0].weights + _total(product.backward for product in bottom[1:]),
        update=setup.row_kernels.moved(2.0 * rows * (row_bytes + _STATE_BYTES)),
        optimizer=kernels.moved(30.0 * model.mlp_weights * _ONE),
    )


def _products(kernels: Kernels, batch: FloatArray, widths: Sequence[int], precision: str) -> list[Product]:
    return [kernels.product(batch, float(outputs), float(inputs), precision) for inputs, outputs in pairwise(widths)]


def _total(arrays: Iterable[FloatArray]) -> FloatArray:
    return sum(arrays, np.zeros(1))


def recommender_step(
    setup: RecommenderSetup, npus: IntArray | int, compute: RecommenderCompute | None = None
) -> StepTime:
    """Return the time of a training step on each number of NPUs (n,), or on one.

    Embedding tables are spread over all NPUs, and each NPU has a copy of the MLPs. An all-to-all takes pooled
    embeddings to the NPUs of their samples, and another one takes their gradients back. Both can run alongside the
    bottom MLP. Its forward pass needs no embedding, and its backward pass starts when the exchange of gradients does.
    An all-reduce sums the gradients of the MLPs. The process group of all this traffic is ``all``.

    An approximation that no public figure of hardware validates.

    Parameters
    ----------
    compute : seconds of compute in place of those of `recommender_compute`, as where they were measured.

    Raises
    ------
    InputError : as `recommender_compute`.
    """
    found = recommender_compute(setup, npus) if compute is None else compute
    exchange, summed = _exchange(setup, npus), _all_reduce(setup, setup.model.mlp_weights)
    beside, waiting = ((exchange,), ()) if setup.overlap_embedding else ((), (exchange, exchange))
    if not setup.overlap_dp:
        waiting = (*waiting, summed)
    races = (
        StepOverlap(_forward(found, beside), _ONE),
        StepOverlap((StepSequence(found.top_forward),), _ONE),
        StepOverlap(_backward(setup, found, beside), _ONE),
        *(StepOverlap((StepSequence(_NONE, (sent,)),), _ONE) for sent in waiting),
    )
    return StepTime({"optimizer": found.optimizer}, races)


def _exchange(setup: RecommenderSetup, npus: IntArray | int) -> Traffic:
    """Return the all-to-all of the pooled embeddings of an NPU's samples, or of their gradients."""
    size = _ACTIVATION_BYTES * setup.batch(npus) * setup.model.pooled_elements
    return Traffic("embedding", ALL, Collective.ALL_TO_ALL, size, _ONE)


def _all_reduce(setup: RecommenderSetup, weights: int) -> Traffic:
    return Traffic("data", ALL, Collective.ALL_REDUCE, setup.gradient_bytes * weights * _ONE, _ONE)


def _forward(compute: RecommenderCompute, beside: tuple[Traffic, ...]) -> tuple[StepSequence, ...]:
    """Return look-ups, then the bottom MLP and the exchange of embeddings side by side."""
    alone = StepSequence(compute.look_up + compute.bottom_forward)
    return (alone, StepSequence(compute.look_up, beside)) if beside else (alone,)


def _backward(
    setup: RecommenderSetup, compute: RecommenderCompute, beside: tuple[Traffic, ...]
) -> tuple[StepSequence, ...]:
    """Return the backward pass and the update of rows: each chain is of what has to happen in turn.

    An update waits for the exchange, and the exchange for the top MLP. Gradients of a layer wait for its backward pass,
    and share the network with the exchange. A layer's time is taken to be in proportion to its weights, so that it is
    enough to check the ends of both MLPs.
    """
    top, model, update = compute.top_backward, setup.model, compute.update
    chains = [StepSequence(top + compute.bottom_backward + update)]
    if beside:
        chains.append(StepSequence(top + update, beside))
    if setup.overlap_dp:
        last, first_of_top = (mlp[0] * mlp[1] for mlp in (model.bottom_mlp, model.top_mlp))
        chains += [
            StepSequence(top + compute.bottom_backward, (_all_reduce(setup, last),), partial=True),
            StepSequence(top, (*beside, _all_reduce(setup, first_of_top + model.bottom_weights)), partial=True),
            StepSequence(_NONE, (*beside, _all_reduce(setup, model.mlp_weights))),
        ]
    return tuple(chains)


def recommender_memory(setup: RecommenderSetup, npus: IntArray | int) -> dict[str, FloatArray]:
    """Return (n,) bytes of an accelerator for each of `memory.CLASSES` that it has.

    Rows of embeddings and their states are spread evenly; weights of the MLPs have 2 bytes and their states 12. The
    gradients of rows update them at once and are never kept. Buffers hold the pooled embeddings that an NPU sends.

    Raises
    ------
    InputError : the rows of the model's tables are not known.
    """
    model, batch = setup.model, setup.batch(npus)
    rows = np.asarray(model.known_rows / np.atleast_1d(npus))
    pooled = _ACTIVATION_BYTES * batch * model.pooled_elements
    widths = sum(model.bottom_mlp) + sum(model.top_mlp[:-1])
    return {
        "weights": rows * (model.embedding * model.element_bytes) + 2.0 * model.mlp_weights,
        "gradients": setup.gradient_bytes * model.mlp_weights * _ONE,
        "states": rows * _STATE_BYTES + 12.0 * model.mlp_weights,
        "activations": _ACTIVATION_BYTES * batch * widths + pooled,
        "logits": 4.0 * batch * model.top_mlp[-1],
        "buffers": BUFFERS + pooled,
    }
