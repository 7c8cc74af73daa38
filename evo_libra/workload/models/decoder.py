"""Language models by their hyper-parameters, and their layers in order, each a tuple of sublayers."""

from __future__ import annotations

from dataclasses import asdict
from functools import lru_cache
from math import gcd
from pathlib import Path
from typing import Any

from pydantic import InstanceOf, RootModel, ValidationError

from evo_libra.errors import InputError, Mistake, unknown
from evo_libra.files.source import read_packaged, validate
from evo_libra.workload.models.decoder_spec import (
    AliasSpec,
    CatalogueSpec,
    DecoderFields,
    DecoderSpec,
    Size,
    impossible,
)
from evo_libra.workload.models.layer_stack import DecoderLayer, Stack
from evo_libra.workload.models.layers.attention import GroupedAttention, MultiheadLatentAttention
from evo_libra.workload.models.layers.ends import Embedding, Head, Predictor
from evo_libra.workload.models.layers.feed_forward import FeedForward, RoutedFeedForward
from evo_libra.workload.models.layers.registry import sublayer_of
from evo_libra.workload.models.layers.sublayer import Sublayer

DECODERS_FOLDER = Path(__file__).parent / "decoders"
_ALIASES = "aliases.yaml"
"""Files of the catalogue, which are read in the order of their names; `aliases.yaml` has no layers of its own."""


class _Decoders(RootModel[dict[str, CatalogueSpec]]):
    pass


class _Aliases(RootModel[dict[str, AliasSpec]]):
    pass


class Decoder(DecoderFields):
    """A decoder: layers of attention and a feed-forward block or experts, unless it is mixed of other layers.

    Biased decoders are of GPT's kind: linear layers and norms have biases, positions are learned. Others are of Llama's
    kind: no biases, rotary positions. Norms of single heads and biases of routers, which some
    models have, are left out; they are less than a millionth of the weights. Layers that are others than those of the
    fields are `mixed`, and `predictors` are none of `layers`.
    """

    name: str
    kv_heads: Size
    head_width: Size
    source: str = ""
    year: int | None = None
    order: str = ""
    mixed: InstanceOf[Stack] | None = None

    @property
    def has_biases(self) -> bool:
        """Whether it is of GPT's kind."""
        return not self.gated if self.biased is None else self.biased

    @property
    def embedding(self) -> Embedding:
        """Its first layer."""
        usual = self.sequence or 0 if self.has_biases else 0
        return Embedding(self.hidden, self.vocabulary, usual if self.positions is None else self.positions)

    @property
    def head(self) -> Head:
        """Its last layer."""
        return Head(self.hidden, self.vocabulary)

    @property
    def stack(self) -> Stack:
        """The layers between them."""
        return _stack(self) if self.mixed is None else self.mixed

    @property
    def predictor(self) -> DecoderLayer:
        """A layer that predicts a further token: a projection, and a layer as the last one."""
        return Predictor(self.hidden), *self.stack.kinds[self.stack.order[-1]]

    @property
    def without_predictors(self) -> Decoder:
        """The model as it is served."""
        return self.model_copy(update={"predictors": 0}) if self.predictors else self

    def figures(self) -> dict[str, Any]:
        """Return its figures by the names of the fields; those that few models have only where it has them."""
        rare = {"predictors": self.predictors == 0, "biased": self.biased is None, "positions": self.positions is None}
        found = self.model_dump(
            exclude={"mixed", "year", "order", *(key for key, is_usual in rare.items() if is_usual)}
        )
        return found if self.mixed is None else {**found, "mixed": asdict(self.mixed)}

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
        kinds = [self.layer_parameters(kind, active=active) for kind in self.stack.kinds]
        ends = self.embedding.parameters() + self._norm + (0 if self.tied else self.head.parameters())
        return ends + sum(kinds[kind] for kind in self.stack.order)

    @property
    def _norm(self) -> int:
        return 2 * self.hidden if self.has_biases else self.hidden

    def layer_parameters(self, layer: DecoderLayer, *, active: bool = False) -> int:
        """Return the weights of a layer, all of them or those that a token passes, with the norm before each part."""
        return sum(self._norm + part.parameters(active=active) for part in layer)


@lru_cache(maxsize=256)
def _stack(model: Decoder) -> Stack:
    """Return the layers of a model: attention and a feed-forward block each, or experts in its place."""
    parts, first = _parts(model), model.layers if model.experts is None else model.experts.dense_layers
    dense = [(parts["attention"], parts["feed-forward"])] * first
    return Stack.of(dense + [(parts["attention"], parts["experts"]) for _ in range(model.layers - first)])


def _parts(model: Decoder) -> dict[str, Sublayer]:
    """Return the parts of layers by the names that rules of stacks use."""
    attention: Sublayer = GroupedAttention(
        model.hidden, model.heads, model.kv_heads, model.head_width, biased=model.has_biases
    )
    if model.latent is not None:
        attention = MultiheadLatentAttention(model.hidden, model.heads, **dict(model.latent))
    found = {
        "attention": attention,
        "feed-forward": FeedForward(model.hidden, model.feed_forward, gated=model.gated, biased=model.has_biases),
    }
    if model.experts is not None:
        experts = model.experts
        found["experts"] = RoutedFeedForward(
            model.hidden, experts.feed_forward, experts.count, experts.per_token, experts.shared_feed_forward,
            gated=model.gated, biased=model.has_biases,
        )  # fmt: skip
    return found


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
    if mistakes := impossible(spec):
        raise InputError(Mistake(message, file or name, key=key) for key, message in mistakes)
    given = spec.model_dump(exclude={"kind", "sublayers", "stack"})
    width = spec.hidden // spec.heads if spec.latent is None else spec.latent.key_width
    given |= {"kv_heads": spec.kv_heads or spec.heads, "head_width": spec.head_width or width}
    model = Decoder(name=name, **given)
    return model.model_copy(update={"mixed": _mixed(model, spec, file or name)}) if spec.stack else model


def _mixed(model: Decoder, spec: DecoderSpec, file: str) -> Stack:
    """Return the layers that the rules of a file make of those that a model has without them."""
    parts, mistakes = _parts(model), list[Mistake]()
    for name, values in spec.sublayers.items():
        try:
            parts[name] = sublayer_of(values, model.hidden)
        except InputError as error:
            mistakes.append(Mistake(str(error), file, key=f"sublayers.{name}.kind"))
        except ValidationError as error:
            for one in error.errors():
                key = ".".join(("sublayers", name, *map(str, one["loc"])))
                mistakes.append(Mistake(f"found {one['input']!r:.60}; {one['msg']}", file, key=key))
    layers = [model.stack.kinds[kind] for kind in model.stack.order]
    for place, rule in enumerate(spec.stack):
        unknown_parts = [part for part in rule.parts if part not in parts and part not in spec.sublayers]
        mistakes += [Mistake(unknown("part", part, parts), file, key=f"stack.{place}.parts") for part in unknown_parts]
        beyond = [layer for layer in rule.layers(len(layers)) if layer >= len(layers)]
        message = f"found {beyond}; the model has {len(layers)} layers, counted from 0"
        mistakes += [Mistake(message, file, key=f"stack.{place}.at")] if beyond else []
        if not mistakes:
            for layer in rule.layers(len(layers)):
                layers[layer] = tuple(parts[part] for part in rule.parts)
    if mistakes:
        raise InputError(mistakes)
    return Stack.of(layers)


@lru_cache(maxsize=1)
def _catalogue() -> dict[str, Decoder]:
    files = [path for path in sorted(DECODERS_FOLDER.glob("*.yaml")) if path.name != _ALIASES]
    specs = [spec for path in files for spec in validate(_Decoders, read_packaged(path)).root.items()]
    found = {name: decoder_of(name, spec) for name, spec in specs}
    aliases = validate(_Aliases, read_packaged(DECODERS_FOLDER / _ALIASES)).root
    return found | {name: _alias(name, spec, found[spec.same_as]) for name, spec in aliases.items()}


def _alias(name: str, spec: AliasSpec, model: Decoder) -> Decoder:
    """Return a model that has the layers of another one."""
    sequence = spec.sequence or model.sequence
    return model.model_copy(update={"name": name, "sequence": sequence, "year": spec.year, "source": spec.source})
