"""The conformance suite that every kind of sublayer runs, a user's as well as those of this package."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from evo_libra.errors import InputError
from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.workload.models.decoder import Decoder, decoder_of
from evo_libra.workload.models.decoder_spec import DecoderSpec
from evo_libra.workload.models.layers import registry
from evo_libra.workload.models.layers.ends import Embedding, Head, Predictor
from evo_libra.workload.models.layers.feed_forward import FeedForward
from evo_libra.workload.models.layers.registry import KINDS, sublayer_of
from evo_libra.workload.models.layers.sublayer import WHOLE, Cell, Matrix, Share, Sublayer
from evo_libra.workload.plans.plans import one_plan
from evo_libra.workload.serving.memory import serving_memory
from evo_libra.workload.serving.phases import phases_of
from evo_libra.workload.serving.serving_setup import ServingSetup
from evo_libra.workload.training.memory import memory
from evo_libra.workload.training.step_time import step_time
from evo_libra.workload.training.training_setup import Setup
from evo_libra.workload.training.training_step import model_flop

LATENT = {"heads": 8, "query_rank": 24, "kv_rank": 16, "nope_width": 8, "rope_width": 4, "value_width": 8}
FILES: dict[str, list[dict[str, Any]]] = {
    "grouped-attention": [
        {"heads": 8, "kv_heads": 4, "head_width": 16},
        {"heads": 8, "kv_heads": 8, "head_width": 16, "window": 32, "sinks": True, "gated": True},
        {"heads": 8, "kv_heads": 8, "head_width": 16, "window": 32, "chunked": True},
    ],
    "latent-attention": [LATENT, {**LATENT, "query_rank": None}],
    "sparse-latent-attention": [{**LATENT, "index_heads": 2, "index_width": 8, "top_k": 32}],
    "state-space": [{"heads": 8, "head_width": 16, "groups": 8, "state_width": 16}],
    "selective-scan": [{"width": 128, "state_width": 16, "rank": 4}],
    "gated-delta": [
        {"key_heads": 8, "value_heads": 16, "key_width": 8, "value_width": 8},
        {"key_heads": 8, "value_heads": 8, "key_width": 8, "value_width": 8, "gate_rank": 8},
    ],
    "feed-forward": [{"width": 256, "gated": True}, {"width": 256, "gated": False, "biased": True}],
    "experts": [{"width": 64, "count": 8, "chosen": 2, "shared_width": 64, "gated": True}],
}
SAMPLES = [sublayer_of({"kind": kind, **sizes}, 64) for kind, files in FILES.items() for sizes in files]
ENDS = [Embedding(64, 1024), Head(64, 1024), Predictor(64)]
CELL = Cell(2.0, 0.0)
every = pytest.mark.parametrize("part", [*SAMPLES, *ENDS], ids=repr)


def total(matrices: tuple[Matrix, ...], name: str) -> float:
    return sum(float(np.ravel(getattr(one, name))[0]) for one in matrices)


def test_every_kind_has_a_sample() -> None:
    assert set(FILES) == set(KINDS)


@every
def test_figures_are_not_negative(part: Sublayer) -> None:
    for share in (WHOLE, Share(tp=4.0, ep=2.0, sequence=4.0)):
        for one in (*part.matrices(share), *part.step_matrices(share)):
            assert min(one.n, one.k, one.count) > 0
            assert min(one.rows, one.flop, one.weights) >= 0
            assert 0 < one.part_read(3.0) <= 1
        figures = [*part.moved(share), part.kept(share), part.cache(share, 10.0, CELL)]
        assert min([*figures, part.gathered(share, 64.0, 1.0, 2.0)]) >= 0
        assert all(core.work > 0 for core in part.cores(share, 64))
        step = part.step(share, 10.0, CELL)
        assert step is None or min(step.flop, step.moved) > 0
    assert 0 < part.parameters(active=True) <= part.parameters()


@every
def test_flop_are_two_for_each_row_column_and_weight(part: Sublayer) -> None:
    for one in part.matrices(Share(tp=2.0, ep=2.0, sequence=2.0)):
        assert one.flop == pytest.approx(2 * one.rows * one.n * one.k * one.count)


@every
def test_a_token_and_many_have_the_same_weights_and_work_of_each(part: Sublayer) -> None:
    for share in (WHOLE, Share(tp=2.0, ep=2.0)):
        for name in ("weights", "flop"):
            step, many = (total(one, name) for one in (part.step_matrices(share), part.matrices(share)))
            assert step == pytest.approx(many, rel=1e-12)


@every
def test_a_tensor_parallel_group_shares_out_work_and_weights(part: Sublayer) -> None:
    """Each NPU has at least its part, and never more than all of it."""
    half = Share(tp=2.0, ep=2.0, sequence=2.0)
    for name in ("weights", "flop"):
        whole, mine = total(part.matrices(WHOLE), name), total(part.matrices(half), name)
        assert whole / 2 * (1 - 1e-12) <= mine <= whole * (1 + 1e-12)
    for one, other in zip(part.cores(WHOLE, 64), part.cores(half, 64), strict=True):
        assert one.work / 2 * (1 - 1e-12) <= other.work <= one.work
    assert part.kept(WHOLE) / 2 * (1 - 1e-12) <= part.kept(half) <= part.kept(WHOLE)
    assert part.cache(WHOLE, 9.0, CELL) / 2 <= part.cache(half, 9.0, CELL) <= part.cache(WHOLE, 9.0, CELL)


@every
def test_a_cache_never_shrinks_and_a_longer_sequence_has_no_less_work(part: Sublayer) -> None:
    sizes = [float(np.ravel(part.cache(WHOLE, tokens, CELL))[0]) for tokens in (1.0, 31.0, 33.0, 1e6)]
    assert sizes == sorted(sizes)
    for one, other in zip(part.cores(WHOLE, 64), part.cores(WHOLE, 128), strict=True):
        assert 0 < one.work <= other.work


def model_with(sublayers: dict[str, dict[str, Any]], parts: list[str]) -> Decoder:
    spec = {
        "layers": 4, "hidden": 64, "heads": 8, "feed_forward": 256, "gated": True, "vocabulary": 1024, "predictors": 1,
        "source": "made up", "sublayers": sublayers, "stack": [{"parts": parts, "every": 2}],
    }  # fmt: skip
    return decoder_of("mixed", DecoderSpec.model_validate(spec))


def check_whole_model(model: Decoder) -> None:
    """Train and serve a model, and look for what cannot be."""
    setup = Setup(model, accelerator("h100-80gb"), 128, 64)
    plans = one_plan(tp=2, cp=2, pp=2, dp=2, micro_batch=2)
    time, used = step_time(setup, plans)(lambda sent: 1e-12 * sent.size), memory(setup, plans)
    assert np.isfinite(time).all()
    assert (time > 0).all()
    assert all((bytes_ >= 0).all() for bytes_ in used.values())
    assert model_flop(model, 256) > model_flop(model, 128) > 6 * model.parameters / 1e3
    serving = ServingSetup(model, accelerator("h100-80gb"), 128, 32)
    phases = phases_of(serving, plans)
    assert phases.decode(lambda sent: 1e-12 * sent.size) > 0
    assert phases.prefill(lambda sent: 1e-12 * sent.size) > 0
    assert all((bytes_ >= 0).all() for bytes_ in serving_memory(serving, plans).values())


@pytest.mark.parametrize(
    ("kind", "sizes"), [(kind, sizes) for kind, files in FILES.items() for sizes in files], ids=str
)
def test_a_model_of_it_can_be_trained_and_served(kind: str, sizes: dict[str, Any]) -> None:
    model = model_with({"own": {"kind": kind, **sizes}}, ["own", "feed-forward"])
    assert model.stack.order == (0, 1, 0, 1)
    check_whole_model(model)


@dataclass(frozen=True)
class Averaging(Sublayer):
    """A kind of a user: the average of all tokens before, mixed by a square matrix."""

    scale: int = 1

    def matrices(self, share: Share) -> tuple[Matrix, ...]:
        return (Matrix(n=self.hidden, k=self.scale * self.hidden / share.tp),)


class Point:
    name = "averaging"

    def load(self) -> type[Sublayer]:
        return Averaging


def test_a_kind_of_a_user_is_a_class_and_an_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "entry_points_of", lambda group: [Point()] if group == registry.ENTRY_POINTS else [])
    model = model_with({"mean": {"kind": "averaging", "scale": 2}}, ["mean", "feed-forward"])
    assert model.stack.kinds[0] == (Averaging(64, 2), FeedForward(64, 256, gated=True))
    check_whole_model(model)


def test_mistakes_of_sublayers_are_named() -> None:
    with pytest.raises(InputError) as error:
        model_with({"a": {"kind": "grouped"}, "b": {"kind": "feed-forward", "width": 0, "wide": 1}}, ["c"])
    text = str(error.value)
    assert "sublayers.a.kind: unknown kind 'grouped'; allowed: grouped-attention" in text
    assert "sublayers.b.width: found 0; Input should be greater than or equal to 1" in text
    assert "sublayers.b.wide: found 1; Unexpected keyword argument" in text
    assert "stack.0.parts: unknown part 'c'; allowed: attention, feed-forward" in text
    with pytest.raises(ValidationError):
        sublayer_of({"kind": "feed-forward", "width": -1, "gated": True}, 64)
