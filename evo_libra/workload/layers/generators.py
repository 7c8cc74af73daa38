"""The catalogue of models, and generators: hyper-parameters to workloads, with the FLOP/s of one NPU as rate.

Times are whole nanoseconds, as in the text format of ASTRA-sim 1.0, so that a generated workload and one that went
through a file are the same. Recommendation models and transformers are those of LIBRA's study (ISPASS 2024).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, RootModel

from evo_libra.arrays import NANO
from evo_libra.collective import Collective
from evo_libra.files.source import StrictModel, packaged
from evo_libra.workload.layers.workload import Layer, Phase, Workload
from evo_libra.workload.parallelism import ALL

MODELS_FILE = Path(__file__).parent / "models.yaml"

PositiveInt = Annotated[int, Field(ge=1)]
Nanoseconds = Annotated[int, Field(ge=0)]


class _ModelBase(StrictModel):
    source: str = Field("", description="where the figures come from")


class TransformerSpec(_ModelBase):
    """Hyper-parameters of a decoder of equal layers."""

    kind: Literal["transformer"]
    hidden: PositiveInt = Field(description="width of the model")
    layers: PositiveInt = Field(description="number of layers")
    sequence: PositiveInt = Field(description="tokens in a sequence")
    batch: PositiveInt = Field(description="sequences per NPU group and iteration")


class MoeSpec(_ModelBase):
    """Hyper-parameters of a decoder of equal layers with experts."""

    kind: Literal["moe"]
    hidden: PositiveInt = Field(description="width of the model")
    expert_hidden: PositiveInt = Field(description="width between the two matrices of an expert")
    experts: PositiveInt = Field(description="experts of a layer; the degree of ep divides it")
    top_k: PositiveInt = Field(description="experts that a token passes")
    layers: PositiveInt = Field(description="number of layers")
    sequence: PositiveInt = Field(description="tokens in a sequence")
    batch: PositiveInt = Field(description="sequences per tensor-parallel group and iteration")


class DlrmSpec(_ModelBase):
    """Hyper-parameters of a deep learning recommendation model."""

    kind: Literal["dlrm"]
    batch: PositiveInt = Field(description="samples per NPU and iteration")
    bottom_mlp: tuple[PositiveInt, ...] = Field(min_length=2, description="widths of the bottom MLP, its input first")
    top_mlp: tuple[PositiveInt, ...] = Field(min_length=2, description="widths of the top MLP, its input first")
    tables: PositiveInt = Field(description="number of embedding tables")
    embedding: PositiveInt = Field(description="width of an embedding")
    embedding_ns: tuple[Nanoseconds, Nanoseconds, Nanoseconds] = Field(
        description="look-up, input-gradient and update time of the embeddings in ns; independent of the compute rate"
    )


class TableSpec(_ModelBase):
    """A model that is kept as an ASTRA-sim 1.0 text workload."""

    kind: Literal["table"]
    file: str = Field(description="path of the file, relative to this one")


ModelSpec = Annotated[TransformerSpec | MoeSpec | DlrmSpec | TableSpec, Field(discriminator="kind")]


class _Models(RootModel[dict[str, ModelSpec]]):
    pass


def load_models() -> dict[str, TransformerSpec | MoeSpec | DlrmSpec | TableSpec]:
    """Return the hyper-parameters of every model that comes with the package, by name."""
    return packaged(_Models, MODELS_FILE).root


BYTES_PER_ELEMENT = 2
"""Half-precision weights, gradients and activations, as in LIBRA's workloads."""
_WEIGHTS_PER_SQUARE = 12
"""Weights of one layer of a transformer over hidden^2: query, key, value, output 4, the two MLP matrices 8."""
_ATTENTION = 4
"""Weights of attention over hidden^2: query, key, value, output."""
_MATRICES = 2
"""Matrices of an expert: up and down."""
REPLICAS = "ep+dp"
"""The NPUs that hold the same dense weights: expert parallelism is data parallelism for all but the experts."""


def _floating_point(operations: float, rate: float) -> Phase:
    """Return the compute of a number of floating-point operations, 2 for a multiply-add, in whole nanoseconds."""
    return Phase(round(operations / rate / NANO) * NANO)


def _reduced(phase: Phase, size: float, group: str) -> Phase:
    return replace(phase, collective=Collective.ALL_REDUCE, size=size, group=group)


def _stacked(rows: Sequence[Layer], layers: int) -> list[Layer]:
    return [replace(row, name=f"layer{number}.{row.name}") for number in range(layers) for row in rows]


def _with_gradients(layer: Layer, weights: float, group: str) -> Layer:
    """Return the layer with the all-reduce of the gradients of a number of weights."""
    return replace(layer, weight_gradient=_reduced(layer.weight_gradient, weights * BYTES_PER_ELEMENT, group))


def dlrm(
    name: str,
    *,
    batch: int,
    bottom_mlp: Sequence[int],
    top_mlp: Sequence[int],
    tables: int,
    embedding: int,
    embedding_ns: Sequence[int],
    rate: float,
) -> Workload:
    """Generate one training iteration of a recommendation model.

    The embedding tables are spread over all NPUs: look-ups and their gradients are exchanged by an all-to-all over all
    of them. The MLPs are replicated; their gradients are all-reduced over all NPUs at the first row.

    Parameters
    ----------
    batch : samples per NPU.
    bottom_mlp, top_mlp : widths, the input first.
    tables, embedding : number of embedding tables and width of an embedding.
    embedding_ns : look-up, input-gradient and update time in ns; bound by memory, not by the compute rate.
    """
    exchange = float(batch * tables * embedding * BYTES_PER_ELEMENT)
    weights = sum(a * b for mlp in (bottom_mlp, top_mlp) for a, b in pairwise(mlp))
    look_up, gradient, update = (time * NANO for time in embedding_ns)
    embeddings = Layer(
        "embeddings",
        Phase(look_up, Collective.ALL_TO_ALL, exchange, ALL),
        Phase(gradient, Collective.ALL_TO_ALL, exchange, ALL),
        Phase(update, Collective.ALL_REDUCE, float(weights * BYTES_PER_ELEMENT), ALL),
    )
    mlps = [
        Layer(f"{label}-mlp{number}", *[_floating_point(2.0 * batch * a * b, rate)] * 3)
        for label, mlp in (("bottom", bottom_mlp), ("top", top_mlp))
        for number, (a, b) in enumerate(pairwise(mlp))
    ]
    return Workload(name, (embeddings, *mlps))


def transformer(
    name: str, *, hidden: int, layers: int, sequence: int, batch: int, tensor_parallel: int, rate: float
) -> Workload:
    """Generate one training iteration of a transformer; the batch is that of one data-parallel replica.

    Each of the three phases of a matrix product takes the same compute. The activations are all-reduced over the
    tensor-parallel group after the output projection and after the MLP (forward), and before the query and the MLP
    (backward); the output projection's input gradient is gathered from its shards. All weight gradients are all-reduced
    over the data-parallel group at the first row, which the backward pass reaches last.
    """
    tokens = sequence * batch
    activations = float(BYTES_PER_ELEMENT * tokens * hidden)
    projection = _floating_point(2.0 * tokens * hidden * hidden / tensor_parallel, rate)
    scores = _floating_point(2.0 * tokens * sequence * hidden / tensor_parallel, rate)
    wide = _floating_point(8.0 * tokens * hidden * hidden / tensor_parallel, rate)
    norm = _floating_point(2.0 * tokens * hidden, rate)
    gather = replace(projection, collective=Collective.ALL_GATHER, size=activations / tensor_parallel, group="tp")
    reduced = partial(_reduced, size=activations, group="tp")
    rows = [
        Layer("query", projection, reduced(projection), projection),
        Layer("key", projection, projection, projection),
        Layer("value", projection, projection, projection),
        Layer("scores", scores, scores, scores),
        Layer("attention", scores, scores, scores),
        Layer("output", reduced(projection), gather, projection),
        Layer("mlp-up", wide, reduced(wide), wide),
        Layer("mlp-down", reduced(wide), wide, wide),
        Layer("norm", norm, norm, norm),
    ]
    first, *rest = _stacked(rows, layers)
    weights = float(_WEIGHTS_PER_SQUARE * hidden * hidden * layers / tensor_parallel)
    return Workload(name, (_with_gradients(first, weights, "dp"), *rest))


def moe(name: str, model: MoeSpec, *, tensor_parallel: int, expert_parallel: int, rate: float) -> Workload:
    """Generate one training iteration of a mixture of experts; the degree of ``ep`` divides the experts.

    All experts get equally many tokens. A tensor-parallel group cuts attention and each expert. It sends every token to
    the group of each of its experts and gets it back (an all-to-all of ``top_k * tokens * hidden`` elements over
    ``ep``, twice forward and twice backward), and sums the weighted outputs as a dense layer does (all-reduces over
    ``tp``). Gradients of the dense weights are all-reduced over ``ep+dp``, those of the experts over ``dp``, all at the
    first layer, which the backward pass reaches last.
    """
    hidden, tokens = model.hidden, model.sequence * model.batch
    activations = float(BYTES_PER_ELEMENT * tokens * hidden)
    width = _ATTENTION * hidden + 2 * model.sequence
    attention = _floating_point(2.0 * tokens * hidden * width / tensor_parallel, rate)
    router = _floating_point(2.0 * tokens * hidden * model.experts, rate)
    expert = _floating_point(2.0 * model.top_k * tokens * hidden * model.expert_hidden / tensor_parallel, rate)
    weighting = _floating_point(2.0 * model.top_k * tokens * hidden, rate)
    reduced = partial(_reduced, size=activations, group="tp")

    def exchanged(phase: Phase) -> Phase:
        return replace(phase, collective=Collective.ALL_TO_ALL, size=model.top_k * activations, group="ep")

    rows = [
        Layer("attention", reduced(attention), reduced(attention), attention),
        Layer("dispatch", exchanged(router), reduced(router), router),
        Layer("expert-up", expert, exchanged(expert), expert),
        Layer("expert-down", exchanged(expert), expert, expert),
        Layer("combine", reduced(weighting), exchanged(weighting), weighting),
    ]
    first, second, third, *rest = _stacked(rows, model.layers)
    # An NPU's share; the router is not cut.
    dense = model.layers * (_ATTENTION * hidden * hidden / tensor_parallel + hidden * model.experts)
    mine = model.experts // expert_parallel
    own = model.layers * _MATRICES * hidden * model.expert_hidden * mine / tensor_parallel
    gradients = _with_gradients(first, dense, REPLICAS), second, _with_gradients(third, own, "dp")
    return Workload(name, (*gradients, *rest))
