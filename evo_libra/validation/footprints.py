"""Published memory footprints: Korthikanti et al. 2022, figures 1 and 7."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.validation.source import Basis, PublishedRow, PublishedSource, published
from evo_libra.workload.models.decoder import Decoder
from evo_libra.workload.plans.plans import FULL, NONE, SELECTIVE, Plans, one_plan
from evo_libra.workload.training.memory import activations, parameters
from evo_libra.workload.training.training_setup import Setup

_GIBI = 2.0**30
_BYTES_OF_WEIGHT = 18.0
_TECHNIQUES = {"seq": (NONE, True), "sel": (SELECTIVE, False), "seqsel": (SELECTIVE, True), "full": (FULL, False)}


def _setup(row: Mapping[str, Any]) -> Setup:
    hidden, heads, gated = row["hidden"], row["heads"], False
    model = Decoder(
        name=row["model"], layers=row["layers"], hidden=hidden, heads=heads, kv_heads=heads, head_width=hidden // heads,
        feed_forward=4 * hidden, gated=gated, vocabulary=51200, sequence=row["seq"], experts=None, latent=None,
        source="", tied=True,
    )  # fmt: skip
    return Setup(model, accelerator("a100-80gb"), row["seq"], row["batch"], fused_attention=False, dropout=True)


def _plan(row: Mapping[str, Any], recompute: int, *, split: bool) -> Plans:
    degrees = {"tp": row["tp"], "pp": row["pp"], "vp": row["interleave"], "micro_batch": row["microbatch"]}
    return one_plan(**degrees, recompute=recompute, sequence_parallel=split)


def _activations(row: Mapping[str, Any], recompute: int, *, split: bool) -> float:
    return float(activations(_setup(row), _plan(row, recompute, split=split))[0])


def _ours(row: Mapping[str, Any]) -> float:
    what = row["id"].split(".")[-1]
    if what == "paramopt":
        held = parameters(_setup(row), _plan(row, NONE, split=False), embeddings=False)
        return _BYTES_OF_WEIGHT * float(held.all[0]) / _GIBI
    if what == "act_none":
        return _activations(row, NONE, split=False) / _GIBI
    if what == "act_seqsel":
        return _activations(row, SELECTIVE, split=True) / _GIBI
    recompute, split = _TECHNIQUES[what]
    return 100.0 * _activations(row, recompute, split=split) / _activations(row, NONE, split=False)


def _rows(start: str) -> Iterator[PublishedRow]:
    for row in published("memory_footprints.json")["rows"]:
        if row["id"].startswith(start):
            yield PublishedRow(row["id"], row["value"], _ours(row), row["unit"])


FOOTPRINTS = (
    PublishedSource("memory", "footprints", "Korthikanti et al. 2022, figure 1: bytes of weights and activations",
           lambda: _rows("korthikanti.f1"), "Calculon 2.1 % mean on activations", basis=Basis.EQUATIONS),
    PublishedSource("recomputation", "footprints",
           "Korthikanti et al. 2022, figure 7: activations compared with tensor parallelism alone",
           lambda: _rows("korthikanti.f7"), note="printed in percent, digitised in part"),
)  # fmt: skip
