"""Language models by their hyper-parameters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import gcd
from pathlib import Path
from typing import Annotated

from pydantic import Field, RootModel

from evo_libra.errors import InputError, Mistake, unknown
from evo_libra.files.source import StrictModel, read_source, validate
from evo_libra.workload.models.layers.attention import GroupedAttention, MultiheadLatentAttention
from evo_libra.workload.models.layers.ends import Embedding, Head
from evo_libra.workload.models.layers.feed_forward import FeedForward, RoutedFeedForward
from evo_libra.workload.models.layers.sublayer import Sublayer
from evo_libra.workload.models.stack import Stack

DECODERS_FILE = Path(__file__).parent / "decoders.yaml"

_MAX = 10**9

Size = Annotated[int, Field(ge=1, le=_MAX)]
Number = Annotated[int, Field(ge=0, le=_MAX)]


class ExpertsSpec(StrictModel):
    """Experts as a file writes them."""

    count: Size = Field(description="experts of a layer that tokens are routed to")
    per_token: Size = Field(description="of them, how many a token passes")
    feed_forward: Size = Field(description="width between the matrices of an expert")
    shared_feed_forward: Number = Field(0, description="width of the experts that every token passes, all together")
    dense_layers: Number = Field(0, description="number of first layers that have no experts")


class LatentAttentionSpec(StrictModel):
    """Multi-head latent attention as a file writes it."""

    query_rank: Size | None = Field(None, description="rank of the queries; not compressed when left out")
    kv_rank: Size = Field(description="rank of keys and values together")
    nope_width: Size = Field(description="width of a head of queries and keys that has no position")
    rope_width: Size = Field(description="width of a head of queries, and of the one key of all heads, with a position")
    value_width: Size = Field(description="width of a head of values")


class DecoderSpec(StrictModel):
    """A model as a file writes it."""

    layers: Size = Field(description="number of layers")
    hidden: Size = Field(description="width of the model")
    heads: Size = Field(description="heads of queries")
    kv_heads: Size | None = Field(None, description="heads of keys and values; as many as of queries when left out")
    head_width: Size | None = Field(None, description="width of a head; hidden / heads when left out")
    feed_forward: Size = Field(description="width between the matrices of a feed-forward block")
    gated: bool = Field(description="whether a feed-forward block has a third matrix, as SwiGLU has")
    vocabulary: Size = Field(description="rows of the embedding")
    sequence: Size | None = Field(None, description="tokens of a training sequence, or the longest context")
    experts: ExpertsSpec | None = Field(None, description="experts in place of feed-forward blocks")
    latent: LatentAttentionSpec | None = Field(None, description="multi-head latent attention")
    tied: bool = Field(default=False, description="whether the head is the embedding again")
    source: str = Field(min_length=1, description="where the figures come from")


class _Decoders(RootModel[dict[str, DecoderSpec]]):
    pass


@dataclass(frozen=True)
class Experts:
    """Experts in place of feed-forward blocks.

    Attributes
    ----------
    count, per_token : experts of a layer that tokens are routed to, and how many of them a token passes.
    feed_forward : width between the matrices of an expert.
    shared_feed_forward : width of the experts that every token passes, all together; 0 for none.
    dense_layers : number of first layers that have a feed-forward block and no experts.
    """

    count: int
    per_token: int
    feed_forward: int
    shared_feed_forward: int
    dense_layers: int


@dataclass(frozen=True)
class LatentAttention:
    """Multi-head latent attention: queries, and keys with values, pass through narrow layers.

    Attributes
    ----------
    query_rank, kv_rank : widths of these layers; None where queries have none.
    nope_width, rope_width : widths of a head of queries and keys without and with a position; all heads share one key
        with a position.
    value_width : width of a head of values.
    """

    query_rank: int | None
    kv_rank: int
    nope_width: int
    rope_width: int
    value_width: int

    @property
    def key_width(self) -> int:
        """Width of a head of queries and keys."""
        return self.nope_width + self.rope_width


@dataclass(frozen=True)
class Decoder:
    """A decoder of equal layers, of which the first may lack experts.

    Decoders that are not gated are of GPT's kind: linear layers and norms have biases, positions are learned. Gated
    ones are of Llama's kind: no biases, rotary positions. Norms of single heads and biases of routers, which some
    models have, are left out; they are less than a millionth of the weights.

    Attributes
    ----------
    name : what files call it.
    layers, hidden : number of layers and width of the model.
    heads, kv_heads, head_width : heads of queries, heads of keys and values, width of a head.
    feed_forward, gated : width between the matrices of a feed-forward block, and whether it has a third matrix.
    vocabulary : rows of the embedding.
    sequence : tokens of a training sequence or the longest context, or None.
    experts, latent : experts in place of feed-forward blocks, multi-head latent attention, or None.
    source : where the figures come from.
    tied : whether the head is the embedding again.
    """

    name: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_width: int
    feed_forward: int
    gated: bool
    vocabulary: int
    sequence: int | None
    experts: Experts | None
    latent: LatentAttention | None
    source: str
    tied: bool = False

    @property
    def embedding(self) -> Embedding:
        """Its first layer."""
        return Embedding(self.hidden, self.vocabulary, 0 if self.gated else self.sequence or 0)

    @property
    def head(self) -> Head:
        """Its last layer."""
        return Head(self.hidden, self.vocabulary)

    @property
    def stack(self) -> Stack:
        """The layers between them."""
        return _stack(self)

    @property
    def expert_layers(self) -> int:
        """Number of layers that have experts."""
        return sum(any(part.experts > 1 for part in self.stack.kinds[kind]) for kind in self.stack.order)

    @property
    def expert_count(self) -> int:
        """Experts that the degree of an expert parallel group divides in every layer; 1 where there are none."""
        return gcd(*(part.experts for kind in self.stack.kinds for part in kind if part.experts > 1)) or 1

    @property
    def parameters(self) -> int:
        """Number of weights, embeddings included."""
        return self._parameters(active=False)

    @property
    def active_parameters(self) -> int:
        """Number of weights that a token passes, embeddings included."""
        return self._parameters(active=True)

    def _parameters(self, *, active: bool) -> int:
        """Return the weights of all layers with the norm before each of their parts, and the one before the head."""
        norm = self.hidden if self.gated else 2 * self.hidden
        kinds = [sum(norm + part.parameters(active=active) for part in kind) for kind in self.stack.kinds]
        ends = self.embedding.parameters() + norm + (0 if self.tied else self.head.parameters())
        return ends + sum(kinds[kind] for kind in self.stack.order)


@lru_cache(maxsize=256)
def _stack(model: Decoder) -> Stack:
    """Return the layers of a model: attention and a feed-forward block each, or experts in its place."""
    attention: Sublayer = GroupedAttention(
        model.hidden, model.heads, model.kv_heads, model.head_width, biased=not model.gated
    )
    if model.latent is not None:
        attention = MultiheadLatentAttention(model.hidden, model.heads, **vars(model.latent))
    dense = attention, FeedForward(model.hidden, model.feed_forward, gated=model.gated, biased=not model.gated)
    if model.experts is None:
        return Stack.of([dense] * model.layers)
    experts = model.experts
    routed = RoutedFeedForward(
        model.hidden, experts.feed_forward, experts.count, experts.per_token, experts.shared_feed_forward,
        gated=model.gated, biased=not model.gated,
    )  # fmt: skip
    first = experts.dense_layers
    return Stack.of([dense] * first + [(attention, routed)] * (model.layers - first))


def load_decoders() -> dict[str, Decoder]:
    """Return every model that comes with the package, by name."""
    return dict(_catalogue())


def decoder(name: str) -> Decoder:
    """Return a model of the catalogue.

    Raises
    ------
    InputError : there is none of that name.
    """
    if name not in _catalogue():
        raise InputError(unknown("model", name, _catalogue()))
    return _catalogue()[name]


def decoder_of(name: str, spec: DecoderSpec, file: str = "") -> Decoder:
    """Return the model that a file describes; errors name the file, or the model where none is given.

    Raises
    ------
    InputError : heads, experts or layers do not fit each other.
    """
    experts = None if spec.experts is None else Experts(**spec.experts.model_dump())
    latent = None if spec.latent is None else LatentAttention(**spec.latent.model_dump())
    if mistakes := _impossible(spec):
        raise InputError(Mistake(message, file or name, key=key) for key, message in mistakes)
    return Decoder(
        name,
        spec.layers,
        spec.hidden,
        spec.heads,
        spec.kv_heads or spec.heads,
        spec.head_width or (spec.hidden // spec.heads if latent is None else latent.key_width),
        spec.feed_forward,
        spec.gated,
        spec.vocabulary,
        spec.sequence,
        experts,
        latent,
        spec.source,
        spec.tied,
    )


@lru_cache(maxsize=1)
def _catalogue() -> dict[str, Decoder]:
    specs = validate(_Decoders, read_source(DECODERS_FILE)).root
    return {name: decoder_of(name, spec) for name, spec in specs.items()}


def _impossible(spec: DecoderSpec) -> list[tuple[str, str]]:
    """Return what of a model cannot be: the key and a sentence."""
    found, experts, heads = [], spec.experts, spec.heads
    kv_heads = spec.kv_heads or heads
    if spec.latent is None and heads % kv_heads:
        found.append(("kv_heads", f"found {kv_heads}; it has to divide the {heads} heads of queries"))
    if spec.latent is None and spec.head_width is None and spec.hidden % heads:
        found.append(("heads", f"found {heads}, which does not divide the width of {spec.hidden}; give the head width"))
    if experts is not None and experts.per_token > experts.count:
        found.append(("experts.per_token", f"found {experts.per_token}; a layer has {experts.count} experts"))
    if experts is not None and experts.dense_layers > spec.layers:
        found.append(("experts.dense_layers", f"found {experts.dense_layers}; the model has {spec.layers} layers"))
    return found
