"""DeepSpeed's configuration, key by key."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evo_libra.errors import InputError
from evo_libra.exchange.formats import Draft
from evo_libra.exchange.registry import read_text_as


def draft(**data: Any) -> Draft:
    return read_text_as(json.dumps({"zero_optimization": {"stage": 1}} | data), "ds.json")[1]


BATCH = {"train_batch_size": 96, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 3}


def test_a_batch_says_how_many_replicas_there_are() -> None:
    # train_batch_size = micro batch x steps x replicas (DeepSpeed, Batch Size Related Parameters): 96 = 2 x 3 x 16.
    found = draft(**BATCH, bf16={"enabled": True})
    assert found.parallelism == {"dp": 16}
    assert found.training == {"global_batch": 96, "micro_batch": 2, "zero": 1, "precision": "bf16"}
    assert draft(train_batch_size=96, train_micro_batch_size_per_gpu=2).parallelism == {}
    with pytest.raises(InputError, match="found 97; 2 sequences x 3 steps have to divide it"):
        draft(**(BATCH | {"train_batch_size": 97}))


@pytest.mark.parametrize("stage", [0, 1, 2, 3])
def test_stages_are_those_of_zero(stage: int) -> None:
    assert draft(zero_optimization={"stage": stage}).training["zero"] == stage


def test_there_is_no_fourth_stage() -> None:
    with pytest.raises(InputError, match=r"stage: found 4; a stage from 0 to 3 is needed"):
        draft(zero_optimization={"stage": 4})
    with pytest.raises(InputError, match=r"stage: found -1"):
        draft(zero_optimization={"stage": -1})


def test_no_stage_is_none() -> None:
    assert draft(zero_optimization={}).training["zero"] == 0


@pytest.mark.parametrize(("name", "precision"), [("bf16", "bf16"), ("fp16", "bf16")])
def test_half_precision(name: str, precision: str) -> None:
    assert draft(**{name: {"enabled": True}}).training["precision"] == precision
    assert "precision" not in draft(**{name: {"enabled": False}}).training


@pytest.mark.parametrize(("kind", "gradients"), [("fp32", "fp32"), ("bf16", "bf16"), ("fp16", "bf16")])
def test_gradients(kind: str, gradients: str) -> None:
    assert draft(data_types={"grad_accum_dtype": kind}).training["gradients"] == gradients


@pytest.mark.parametrize("on", [True, False])
def test_overlap(*, on: bool) -> None:
    assert draft(zero_optimization={"stage": 2, "overlap_comm": on}).training["overlap"] == {"dp": on}
    assert "overlap" not in draft().training


def test_offloading_is_listed_where_there_is_any() -> None:
    given = {"stage": 3, "offload_optimizer": {"device": "cpu"}, "offload_param": {"device": "none"}}
    left = draft(zero_optimization=given, activation_checkpointing={"cpu_checkpointing": True}).left
    assert [sentence.split(": ")[1] for sentence in left] == [
        "zero_optimization.offload_optimizer.device", "activation_checkpointing.cpu_checkpointing",
    ]  # fmt: skip


def test_other_optimizers_than_adam_are_listed() -> None:
    assert draft(optimizer={"type": "AdamW", "params": {"lr": 1e-4}}).left == ()
    assert draft(optimizer={"type": "Lamb"}).left == ("ds.json: optimizer.type: found 'Lamb'; 'Adam' is assumed",)
