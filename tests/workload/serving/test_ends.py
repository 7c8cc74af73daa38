"""What goes over a tensor parallel group before the layers and after the head: bytes by hand, and laws."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from effort import costly
from hypothesis import given
from hypothesis import strategies as st

from evo_libra.collective import BeyondBytes
from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.workload.models.decoder import decoder
from evo_libra.workload.plans.plans import Plans, one_plan
from evo_libra.workload.serving.phases import Phases, phases_of
from evo_libra.workload.serving.serving_setup import EmbeddingAndHeadTraffic, ServingSetup
from evo_libra.workload.training.races import StepTime, Traffic

USERS, PROMPT, HIDDEN, VOCABULARY = 12, 700, 8192, 128256
MODEL = "llama-3-70b"
EXACT = 1e-12
NVLINK = BeyondBytes("nvlink4")
BROADCASTS, SAMPLINGS = (None, "ids", "embeddings"), (None, "top-k", "logits")


def setup_of(ends: EmbeddingAndHeadTraffic) -> ServingSetup:
    return ServingSetup(decoder(MODEL), accelerator("h100-80gb"), PROMPT, 100, ends=ends)


def phases(ends: EmbeddingAndHeadTraffic, plan: Plans) -> Phases:
    return phases_of(setup_of(ends), plan)


def sent(step: StepTime, part: str) -> float:
    """Return the bytes of the pattern that all operations of a part are; all of them lie in the tensor group."""
    found = [one for race in step.races for one in race.sent if one.part == part]
    assert all(one.group == "tp" for one in found)
    return float(sum(race.count[0] * np.sum(one.operations * one.bytes_of_pattern) for race in step.races
                     for one in race.sent if one.part == part))  # fmt: skip


@pytest.mark.parametrize(("broadcast", "bytes_"), [("ids", 4), ("embeddings", 2 * HIDDEN)])
def test_a_broadcast_is_a_scatter_and_an_all_gather(broadcast: str, bytes_: int) -> None:
    found = phases(EmbeddingAndHeadTraffic(broadcast), one_plan(tp=8, micro_batch=USERS))
    assert sent(found.decode, "embedding") == 2 * bytes_ * USERS
    assert sent(found.prefill, "embedding") == 2 * bytes_ * PROMPT


@pytest.mark.parametrize(("ends", "bytes_"), [
    (EmbeddingAndHeadTraffic(sampling="logits"), 4 * VOCABULARY),
    (EmbeddingAndHeadTraffic(sampling="top-k", top_k=50), 8 * 50 * 8),
    (EmbeddingAndHeadTraffic(sampling="top-k", top_k=10**6), 8 * VOCABULARY),
])  # fmt: skip
def test_the_next_token_is_chosen_from_what_all_npus_send(ends: EmbeddingAndHeadTraffic, bytes_: int) -> None:
    """A pass over a prompt chooses one token, a step of decoding one for each user."""
    found = phases(ends, one_plan(tp=8, micro_batch=USERS))
    assert sent(found.decode, "sampling") == bytes_ * USERS
    assert sent(found.prefill, "sampling") == bytes_


def test_stages_of_a_full_pipeline_send_for_their_users() -> None:
    """Four stages, each with a quarter of the users, take turns with the head."""
    found = phases(EmbeddingAndHeadTraffic("ids", "logits"), one_plan(tp=2, pp=4, micro_batch=USERS))
    assert sent(found.decode, "embedding") == 2 * 4 * USERS
    assert sent(found.decode, "sampling") == 4 * VOCABULARY * USERS


def seconds(ends: EmbeddingAndHeadTraffic, plan: Plans, per_byte: float) -> np.ndarray:
    """Return the s of prefill and of a step of decoding."""

    def seconds_of(one: Traffic) -> np.ndarray:
        return np.asarray(one.bytes_of_pattern * per_byte + one.beyond[NVLINK])

    found = phases(ends, plan)
    return np.array([float(step(seconds_of)[0]) for step in (found.prefill, found.decode)])


@pytest.mark.slow
@given(st.sampled_from([2, 4, 8]), st.sampled_from([1, 2]), st.integers(1, 64), st.floats(0, 1e-9))
@costly(100)
def test_fewer_bytes_are_never_slower(tp: int, pp: int, users: int, per_byte: float) -> None:
    plan = one_plan(tp=tp, pp=pp, micro_batch=users)
    for rest in SAMPLINGS:
        none, ids, embeddings = (seconds(EmbeddingAndHeadTraffic(one, rest, 50), plan, per_byte) for one in BROADCASTS)
        assert (none < ids).all()
        assert (ids <= embeddings).all()
    for first in BROADCASTS:
        none, few, every = (seconds(EmbeddingAndHeadTraffic(first, one, 50), plan, per_byte) for one in SAMPLINGS)
        assert (none < few).all()
        assert (few <= every).all()


@pytest.mark.slow
@given(st.sampled_from([1, 2, 4, 8]), st.integers(1, 64), st.floats(0, 1e-9))
def test_what_is_the_same_takes_as_long(tp: int, users: int, per_byte: float) -> None:
    """A candidate has a logit and an id: as many of them as half the logits of an NPU are as many bytes as all."""
    plan = one_plan(tp=tp, micro_batch=users)
    half = seconds(EmbeddingAndHeadTraffic("ids", "top-k", VOCABULARY // (2 * tp)), plan, per_byte)
    np.testing.assert_allclose(half, seconds(EmbeddingAndHeadTraffic("ids", "logits"), plan, per_byte), rtol=EXACT)


@pytest.mark.parametrize(("broadcast", "sampling"), [*product(BROADCASTS, SAMPLINGS)])
def test_each_takes_a_collective_of_the_software_beyond_its_bytes(broadcast: str, sampling: str) -> None:
    """At least the start among 8 NPUs of NVLink 4: 2.3 us, and 0.12 us for each of them."""
    ends, plan = EmbeddingAndHeadTraffic(broadcast, sampling, 50), one_plan(tp=8, micro_batch=USERS)
    count = (broadcast is not None) + (sampling is not None)
    more = seconds(ends, plan, 0.0) - seconds(EmbeddingAndHeadTraffic(), plan, 0.0)
    assert (more >= count * 3.26e-6 * (1.0 - 1e-9)).all()
    alone = replace(plan, tp=np.ones(1, dtype=np.int64))
    np.testing.assert_array_equal(seconds(ends, alone, 0.0), seconds(EmbeddingAndHeadTraffic(), alone, 0.0))
