"""Language models as files write them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from evo_libra.files.source import StrictModel

_MAX, MAX_LAYERS = 10**9, 10_000

Size = Annotated[int, Field(ge=1, le=_MAX)]
Number = Annotated[int, Field(ge=0, le=_MAX)]


class Experts(StrictModel):
    """Experts in place of feed-forward blocks."""

    count: Size = Field(description="experts of a layer that tokens are routed to")
    per_token: Size = Field(description="of them, how many a token passes")
    feed_forward: Size = Field(description="width between the matrices of an expert")
    shared_feed_forward: Number = Field(0, description="width of the experts that every token passes, all together")
    dense_layers: Number = Field(0, description="number of first layers that have no experts")


class LatentAttention(StrictModel):
    """Multi-head latent attention: queries, and keys with values, pass through narrow layers."""

    query_rank: Size | None = Field(None, description="rank of the queries; not compressed when left out")
    kv_rank: Size = Field(description="rank of keys and values together")
    nope_width: Size = Field(description="width of a head of queries and keys that has no position")
    rope_width: Size = Field(description="width of a head of queries, and of the one key of all heads, with a position")
    value_width: Size = Field(description="width of a head of values")

    @property
    def key_width(self) -> int:
        """Width of a head of queries and keys."""
        return self.nope_width + self.rope_width


class StackRule(StrictModel):
    """Kind of some layers: every n-th one of a range, or those of a list."""

    parts: list[str] = Field(
        min_length=1,
        description="names of what follows each other in a layer: `attention`, `feed-forward` and `experts` as the "
        "other keys have them, or names of `sublayers`",
    )
    start: Number = Field(0, description="first layer of the range; layers are counted from 0")
    stop: Number | None = Field(None, description="layer before which the range ends; all layers when left out")
    every: Size = Field(1, description="n of every n-th layer of the range")
    at: list[Number] | None = Field(None, description="layers in place of a range")

    def layers(self, count: int) -> Sequence[int]:
        """Return the layers that the rule is about, of a number of layers."""
        stop = count if self.stop is None else min(self.stop, count)
        return range(self.start, stop, self.every) if self.at is None else self.at


Weights = Literal["open", "closed", "roadmap"]
WEIGHTS = "open: weights that anyone can have; closed: a model that is described alone; roadmap: announced"


class DecoderFields(StrictModel):
    """Figures of a model, as a file writes them and as they are computed with."""

    layers: Annotated[int, Field(ge=1, le=MAX_LAYERS)] = Field(description="number of layers")
    hidden: Size = Field(description="width of the model")
    heads: Size = Field(description="heads of queries")
    kv_heads: Size | None = Field(None, description="heads of keys and values; as many as of queries when left out")
    head_width: Size | None = Field(None, description="width of a head; hidden / heads when left out")
    feed_forward: Size = Field(description="width between the matrices of a feed-forward block")
    gated: bool = Field(description="whether a feed-forward block has a third matrix, as SwiGLU has")
    biased: bool | None = Field(
        None,
        description="whether linear layers and norms have biases and positions are learned, as in GPT; those that are "
        "not gated when left out",
    )
    positions: Number | None = Field(
        None,
        description="rows of learned positions; when left out one for each token of `sequence` with biases, and else 0",
    )
    vocabulary: Size = Field(description="rows of the embedding")
    sequence: Size | None = Field(None, description="tokens of a training sequence, or the longest context")
    experts: Experts | None = Field(None, description="experts in place of feed-forward blocks")
    latent: LatentAttention | None = Field(None, description="multi-head latent attention")
    tied: bool = Field(default=False, description="whether the head is the embedding again")
    predictors: Number = Field(0, description="layers that predict tokens after the next one, in training alone")
    source: str = Field(min_length=1, description="where the figures come from")


class DecoderSpec(DecoderFields):
    """A model as a file writes it."""

    sublayers: dict[str, dict[str, Any]] = Field(
        {}, description="parts of layers of other kinds by a name: each has a `kind` and the sizes of that kind"
    )
    stack: list[StackRule] = Field(
        [], description="layers that consist of other parts; a later rule counts before an earlier one"
    )


class CatalogueSpec(DecoderSpec):
    """A model of the catalogue."""

    year: int = Field(description="year of the newest source")
    order: Weights = Field("open", description=WEIGHTS)


class AliasSpec(StrictModel):
    """A model of the catalogue that has the layers of another one."""

    same_as: str = Field(description="name of the other one")
    sequence: Size | None = Field(None, description="longest context; the other decoder gives it when left out")
    year: int = Field(description="year of the newest source")
    source: str = Field(min_length=1, description="where it is said that the layers are the same")


def impossible(spec: DecoderSpec) -> list[tuple[str, str]]:
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
