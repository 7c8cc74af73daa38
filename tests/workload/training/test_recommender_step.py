"""Training steps of recommendation models: against the generator's loop and a schedule, and their laws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.collective import Collective, Pattern, time_per_byte, unit_traffic
from evo_libra.errors import InputError
from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.workload.layers.generators import dlrm
from evo_libra.workload.layers.iteration_time import iteration_time
from evo_libra.workload.layers.workload import Workload
from evo_libra.workload.models.recommender import Recommender, recommender
from evo_libra.workload.parallelism import ALL
from evo_libra.workload.training.memory import CLASSES
from evo_libra.workload.training.races import PARTS, PerByte, StepTime
from evo_libra.workload.training.recommender_step import (
    RecommenderCompute,
    RecommenderSetup,
    recommender_compute,
    recommender_memory,
    recommender_step,
)

SEEDS = st.integers(0, 2**32 - 1)
H100 = accelerator("h100-80gb")
NPUS = 2 ** np.arange(8)


def random_model(random: np.random.Generator) -> Recommender:
    def widths() -> tuple[int, ...]:
        return tuple(int(width) for width in random.integers(1, 3000, random.integers(2, 7)))

    tables, embedding = (int(random.integers(1, 200)) for _ in range(2))
    return Recommender(
        name="own", tables=tables, embedding=embedding, bottom_mlp=widths(), top_mlp=widths(),
        rows=int(random.integers(1, 10**9)), pooling=float(random.uniform(0.5, 100)),
    )  # fmt: skip


def random_setup(random: np.random.Generator, **given_: Any) -> RecommenderSetup:
    values: dict[str, Any] = {
        "precision": str(random.choice(["bf16", "fp8"])),
        "overlap_embedding": bool(random.random() < 0.5),
        "overlap_dp": bool(random.random() < 0.5),
    }
    return RecommenderSetup(random_model(random), H100, int(2 ** random.uniform(8, 20)), **{**values, **given_})


def per_byte(random: np.random.Generator) -> dict[tuple[str, Pattern], FloatArray]:
    return {(ALL, pattern): 10 ** random.uniform(-13, -8, len(NPUS)) for pattern in Pattern}


FREE = {(ALL, pattern): np.zeros(1) for pattern in Pattern}


def time_of(step: StepTime, costs: Mapping[tuple[str, Pattern], FloatArray]) -> FloatArray:
    return step(PerByte(costs))


def parts_of(step: StepTime, costs: Mapping[tuple[str, Pattern], FloatArray]) -> dict[str, FloatArray]:
    return step.split(PerByte(costs))


def generated(
    model: Recommender, batch: int, rate: float = 60e12, embedding_ns: tuple[int, ...] = (9, 5, 7)
) -> Workload:
    return dlrm(
        model.name,
        batch=batch,
        bottom_mlp=model.bottom_mlp,
        top_mlp=model.top_mlp,
        tables=model.tables,
        embedding=model.embedding,
        embedding_ns=embedding_ns,
        rate=rate,
    )


def compute_of(workload: Workload) -> RecommenderCompute:
    """Return the compute of a generated workload, by the names of its layers."""

    def total(label: str, *phases: str) -> FloatArray:
        layers = [layer for layer in workload.layers if layer.name.startswith(label)]
        return np.array([sum(getattr(layer, phase).compute for layer in layers for phase in phases)])

    gradients = ("input_gradient", "weight_gradient")
    return RecommenderCompute(
        total("embeddings", "forward"),
        total("bottom", "forward"),
        total("top", "forward"),
        total("top", *gradients),
        total("bottom", *gradients),
        total("embeddings", *gradients),
        np.zeros(1),
    )


def sent_by_step(time: StepTime) -> dict[Collective, list[float]]:
    """Return the bytes of each collective of a step on one number of NPUs, where each is in one chain."""
    found: dict[Collective, list[float]] = {}
    for race in time.races:
        for chain in race.chains:
            for sent in chain.traffic:
                assert (sent.group, float(sent.operations[0]), float(race.count[0])) == (ALL, 1.0, 1.0)
                assert isinstance(sent.operation, Collective)
                found.setdefault(sent.operation, []).append(float(sent.size[0]))
    return found


def sent_by_workload(workload: Workload) -> dict[Collective, list[float]]:
    found: dict[Collective, list[float]] = {}
    for layer in workload.layers:
        for phase in layer.phases:
            if phase.collective is not None:
                assert phase.group == ALL
                found.setdefault(phase.collective, []).append(phase.size)
    return found


# Themis's artifact prints its sizes and no widths. Any with these products do.
THEMIS = Recommender(
    name="themis", tables=768, embedding=128, bottom_mlp=(13_850_983, 47), top_mlp=(13_850_983, 1), pooling=1.0
)


@pytest.mark.parametrize(
    ("model", "exchanged", "summed"),
    [
        (recommender("dlrm-libra").model_copy(update={"pooling": 1.0}), 4_194_304, 114_823_168),
        (THEMIS, 100_663_296, 1_329_694_368),
    ],
)
@pytest.mark.parametrize("overlap", [False, True])
def test_traffic_is_that_of_the_generator(model: Recommender, exchanged: int, summed: int, *, overlap: bool) -> None:
    setup = RecommenderSetup(model, H100, 512 * 1024, overlap_embedding=overlap)
    found = sent_by_step(recommender_step(setup, 1024))
    assert found == sent_by_workload(generated(model, 512))
    assert found == {Collective.ALL_TO_ALL: [exchanged] * 2, Collective.ALL_REDUCE: [summed]}


def random_network(random: np.random.Generator) -> tuple[IntArray, FloatArray]:
    npus = random.integers(1, 9, (random.integers(1, 5), 1))
    return npus, 10 ** random.uniform(9, 12, npus.shape)


@given(SEEDS)
@settings(max_examples=100)
def test_without_overlap_the_time_is_that_of_the_generators_loop(seed: int) -> None:
    random = np.random.default_rng(seed)
    model, batch = random_model(random), int(random.integers(1, 5000))
    times = tuple(int(time) for time in random.integers(0, 10**6, 3))
    workload = generated(model, batch, 10 ** random.uniform(12, 15), times)
    npus, bandwidth = random_network(random)
    total = int(npus.prod())
    costs = {(ALL, pattern): time_per_byte(unit_traffic(pattern, npus), bandwidth) for pattern in Pattern}
    loop = iteration_time(workload, {ALL: total}, "none")
    expected = loop([costs[group, pattern] for group, pattern in loop.streams])  # type: ignore[index]
    setup = RecommenderSetup(model, H100, batch * total, overlap_embedding=False)
    found = time_of(recommender_step(setup, total, compute_of(workload)), costs)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.slow
@given(SEEDS)
@settings(max_examples=60)
def test_a_faster_network_or_accelerator_is_never_slower(seed: int) -> None:
    random = np.random.default_rng(seed)
    setup, costs = random_setup(random), per_byte(random)
    time = time_of(recommender_step(setup, NPUS), costs)
    faster = {key: cost * random.uniform(0.1, 1.0) for key, cost in costs.items()}
    assert (time_of(recommender_step(setup, NPUS), faster) <= time * (1 + 1e-12)).all()
    memory = replace(H100, memory_bandwidth=H100.memory_bandwidth * random.uniform(1.0, 3.0))
    peak = replace(H100, peak={name: rate * random.uniform(1.0, 3.0) for name, rate in H100.peak.items()})
    for npu in (memory, peak):
        after = time_of(recommender_step(replace(setup, accelerator=npu), NPUS), costs)
        assert (after <= time * (1 + 1e-12)).all()


@given(SEEDS)
@settings(max_examples=60)
def test_a_batch_of_twice_the_samples_takes_at_most_twice_as_long(seed: int) -> None:
    random = np.random.default_rng(seed)
    setup, costs = random_setup(random), per_byte(random)
    twice = replace(setup, global_batch=2 * setup.global_batch)
    once, doubled = (time_of(recommender_step(each, NPUS), costs) for each in (setup, twice))
    assert (once < doubled).all()
    assert (doubled <= 2 * once * (1 + 1e-12)).all()
    # What a sample costs doubles; the time of a batch on half of the NPUs is the same.
    before, after = recommender_compute(setup, NPUS), recommender_compute(twice, NPUS)
    np.testing.assert_allclose(after.look_up, 2 * before.look_up, rtol=1e-12)
    np.testing.assert_allclose(after.update, 2 * before.update, rtol=1e-12)
    np.testing.assert_allclose(time_of(recommender_step(twice, 2 * NPUS), costs), once, rtol=1e-12)


@given(SEEDS)
@settings(max_examples=60)
def test_parts_add_up_and_none_is_negative(seed: int) -> None:
    random = np.random.default_rng(seed)
    setup, costs = random_setup(random), per_byte(random)
    time = recommender_step(setup, NPUS)
    parts = parts_of(time, costs)
    assert tuple(parts) == PARTS
    np.testing.assert_allclose(sum(parts.values()), time_of(time, costs), rtol=1e-12)
    assert all((part >= 0).all() for part in parts.values())
    others = set(PARTS) - {"compute", "embedding", "data", "optimizer"}
    assert not any(parts[part].any() for part in others)
    free = parts_of(time, FREE)
    assert not free["embedding"].any()
    assert not free["data"].any()
    compute = recommender_compute(setup, NPUS)
    np.testing.assert_allclose(sum(free.values()), sum(vars(compute).values()), rtol=1e-12)


def alone(setup: RecommenderSetup, costs: Mapping[Any, FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Return the seconds of an exchange and of the all-reduce, with nothing beside them."""
    exchange = 2.0 * setup.batch(NPUS) * setup.model.pooled_elements * costs[ALL, Pattern.ALL_TO_ALL]
    summed = 2.0 * 2.0 * setup.model.mlp_weights * costs[ALL, Pattern.SHRINKING]
    return exchange, summed


@pytest.mark.slow
@given(SEEDS)
@settings(max_examples=60)
def test_overlap_hides_no_more_than_what_runs_beside_it(seed: int) -> None:
    random = np.random.default_rng(seed)
    setup, costs = random_setup(random, overlap_embedding=False, overlap_dp=False), per_byte(random)
    compute, (exchange, summed) = recommender_compute(setup, NPUS), alone(setup, costs)
    without = time_of(recommender_step(setup, NPUS), costs)
    embedding = time_of(recommender_step(replace(setup, overlap_embedding=True), NPUS), costs)
    hidden = np.minimum(exchange, compute.bottom_forward) + np.minimum(exchange, compute.bottom_backward)
    np.testing.assert_allclose(embedding, without - hidden, rtol=1e-12)
    data = time_of(recommender_step(replace(setup, overlap_dp=True), NPUS), costs)
    passes = compute.top_backward + compute.bottom_backward + compute.update
    assert (data <= without * (1 + 1e-12)).all()
    assert (data >= without - np.minimum(summed, passes) - 1e-12 * without).all()
    both = time_of(recommender_step(replace(setup, overlap_embedding=True, overlap_dp=True), NPUS), costs)
    assert (both <= np.minimum(embedding, data) * (1 + 1e-12)).all()
    # The network sends all of it, however much runs beside it.
    assert (both >= 2 * exchange + summed).all()


def run_backward(setup: RecommenderSetup, compute: RecommenderCompute, exchange: float, per_weight: float) -> float:
    """Return the end of the backward pass, run layer by layer: the exchange goes first wherever both could.

    A layer takes time in proportion to its weights. The network finishes what it has begun.
    """
    bottom, top = (list(pairwise(mlp)) for mlp in (setup.model.bottom_mlp, setup.model.top_mlp))
    clock, waiting = 0.0, []
    for layers, seconds in ((top, compute.top_backward), (bottom, compute.bottom_backward)):
        for inputs, outputs in reversed(layers):
            clock += float(seconds[0]) * inputs * outputs / sum(a * b for a, b in layers)
            waiting.append((clock, inputs * outputs * per_weight))
    ready, network, arrived = waiting[len(top) - 1][0], 0.0, None
    while waiting or arrived is None:
        if arrived is None and (not waiting or max(network, waiting[0][0]) >= ready):
            network = arrived = max(network, ready) + exchange
        else:
            start, seconds_ = waiting.pop(0)
            network = max(network, start) + seconds_
    return max(max(clock, arrived) + float(compute.update[0]), network)


@pytest.mark.slow
@given(SEEDS)
@settings(max_examples=200)
def test_the_backward_pass_is_that_of_its_schedule_but_for_a_layer_and_a_message(seed: int) -> None:
    random = np.random.default_rng(seed)
    setup = random_setup(random, overlap_embedding=True, overlap_dp=True)
    model, scale = setup.model, 10 ** random.uniform(-5, -2)
    made_up = (random.uniform(0.0, scale, 1) for _ in range(4))
    top, bottom, update, costs = made_up
    none = np.zeros(1)
    compute = RecommenderCompute(none, none, none, top, bottom, update, none)
    exchange, summed = float(costs[0]), random.uniform(0.0, scale)
    exchanged = 2.0 * float(setup.batch(64)[0]) * model.pooled_elements
    seconds = {
        (ALL, Pattern.ALL_TO_ALL): np.array([exchange / exchanged]),
        (ALL, Pattern.SHRINKING): np.array([summed / (4.0 * model.mlp_weights)]),
    }
    # Forwards, nothing runs beside the exchange.
    found = float(time_of(recommender_step(setup, 64, compute), seconds)[0]) - exchange
    expected = run_backward(setup, compute, exchange, summed / model.mlp_weights)
    largest = [max(a * b for a, b in pairwise(mlp)) for mlp in (model.bottom_mlp, model.top_mlp)]
    message = summed * max(largest) / model.mlp_weights
    totals = (model.bottom_weights, model.mlp_weights - model.bottom_weights)
    layer = max(float(time[0]) * most / total for time, most, total in zip((bottom, top), largest, totals, strict=True))
    assert found <= expected * (1 + 1e-9)
    assert expected <= found + message + layer + 1e-9 * expected


def test_an_update_waits_for_the_exchange_and_the_exchange_for_the_top_mlp() -> None:
    one = np.ones(1)
    setup = RecommenderSetup(THEMIS, H100, 64, overlap_dp=True)
    compute = RecommenderCompute(0 * one, 0 * one, 0 * one, 5 * one, 2 * one, 3 * one, 0 * one)
    exchanged = 2.0 * float(setup.batch(64)[0]) * THEMIS.pooled_elements
    seconds = FREE | {(ALL, Pattern.ALL_TO_ALL): np.array([4.0 / exchanged])}
    found = parts_of(recommender_step(setup, 64, compute), seconds)
    # Forwards all 4 s are exposed, backwards 2 of them: 5 + 4 + 3 s instead of 5 + 2 + 3.
    assert float(found["compute"][0]) == 10.0
    assert float(found["embedding"][0]) == pytest.approx(4.0 + 2.0)
    assert float(found["data"][0]) == 0.0


def test_gradients_wait_for_the_layers_that_make_them() -> None:
    # 10 and 5 weights, then 5 and 8.
    model = Recommender(name="own", tables=1, embedding=1, bottom_mlp=(10, 1, 5), top_mlp=(5, 1, 8))
    setup = RecommenderSetup(model, H100, 1, overlap_dp=True)

    def seconds(bottom: float, of_weight: float) -> float:
        none = np.zeros(1)
        compute = RecommenderCompute(none, none, none, np.array([13.0]), np.array([bottom]), none, none)
        costs = FREE | {(ALL, Pattern.SHRINKING): np.array([of_weight / 4.0])}
        return float(time_of(recommender_step(setup, 1, compute), costs)[0])

    # The gradients of the bottom MLP's first layer are sent when all else is over.
    assert seconds(15.0, 0.1) == pytest.approx(13 + 15 + 10 * 0.1)
    # Those of the top MLP's first layer and of the bottom MLP follow the top MLP.
    assert seconds(2.0, 1.2) == pytest.approx(13 + (5 + 5 + 10) * 1.2)
    # A slow network is slow for all of them.
    assert seconds(15.0, 5.0) == pytest.approx(28 * 5.0)


@pytest.mark.parametrize(
    ("npu", "logged", "ratios"), [("a100-80gb", 1.5455e-3, (0.88, 0.96)), ("a100-40gb", 2.40e-3, (0.645, 0.705))]
)
def test_a_step_of_mlperfs_model_is_shorter_than_logged_ones(
    npu: str, logged: float, ratios: tuple[float, float]
) -> None:
    """Compare with logs of MLPerf training, NVIDIA's DLRM on a DGX A100.

    v1.0: 209,740,800 samples between evaluations in 5.862 s, HugeCTR 3.1. v0.7: 1000 steps in 2.40 s, HugeCTR 2.1.
    """
    found = accelerator(npu)
    rate = found.wire_rate("nvlink3") * found.bus_constants("nvlink3").efficiency
    costs = {
        (ALL, pattern): time_per_byte(unit_traffic(pattern, np.array([[8]])), np.array([[rate]])) for pattern in Pattern
    }
    for overlap, ratio in zip((True, False), ratios, strict=True):
        setup = RecommenderSetup(
            recommender("dlrm-mlperf"), found, 55_296, overlap_embedding=overlap, overlap_dp=overlap
        )
        assert float(time_of(recommender_step(setup, 8), costs)[0]) / logged == pytest.approx(ratio, abs=0.005)


def test_look_ups_update_and_optimizer_are_their_bytes_over_the_bandwidth() -> None:
    model = recommender("dlrm-libra").model_copy(update={"pooling": 20.0})
    setup = RecommenderSetup(model, H100, 512 * 64, memory_factor=1.0)
    found = recommender_compute(setup, 64)
    rows = 512 * 64 * 20
    assert float(found.look_up[0]) == pytest.approx(rows * 64 * 4 / (0.5 * 3350e9))
    assert float(found.update[0]) == pytest.approx(2 * rows * (64 * 4 + 4) / (0.5 * 3350e9))
    assert float(found.optimizer[0]) == pytest.approx(30 * model.mlp_weights / 3350e9)
    kernels = setup.kernels
    first, second = (kernels.product(512.0, float(n), float(k), "bf16") for k, n in ((1600, 1024), (1024, 64)))
    small = recommender_compute(replace(setup, model=model.model_copy(update={"bottom_mlp": (1600, 1024, 64)})), 64)
    assert float(small.bottom_forward[0]) == pytest.approx(float(first.forward + second.forward))
    assert float(small.bottom_backward[0]) == pytest.approx(float(first.weights + second.backward))


def test_interaction_reads_all_features_and_writes_the_top_mlps_input() -> None:
    model = recommender("dlrm-mlperf").model_copy(update={"top_mlp": (479, 256)})
    setup = RecommenderSetup(model, H100, 4096, memory_factor=1.0)
    found, product = recommender_compute(setup, 2), setup.kernels.product(2048.0, 256.0, 479.0, "bf16")
    features, combined = 2048 * 2 * 27 * 128, 2048 * 2 * 479
    assert float(found.top_forward[0] - product.forward) == pytest.approx((features + combined) / 3350e9)
    assert float(found.top_backward[0] - product.backward) == pytest.approx((2 * features + combined) / 3350e9)


@given(SEEDS)
@settings(max_examples=60)
def test_memory_falls_with_npus_down_to_a_copy_of_the_mlps(seed: int) -> None:
    random = np.random.default_rng(seed)
    setup = random_setup(random)
    found = recommender_memory(setup, NPUS)
    assert tuple(found) == tuple(kind for kind in CLASSES if kind not in ("gathered", "backward"))
    used = sum(found.values(), np.zeros(1))
    assert (np.diff(used) < 0).all()
    assert all((np.diff(np.broadcast_to(part, NPUS.shape)) <= 0).all() for part in found.values())
    assert (used > (14 + setup.gradient_bytes) * setup.model.mlp_weights + 1e9).all()
    more = replace(setup, model=setup.model.model_copy(update={"rows": setup.model.known_rows + 1}))
    row = sum(recommender_memory(more, 1).values(), np.zeros(1)) - sum(
        recommender_memory(setup, 1).values(), np.zeros(1)
    )
    assert float(row[0]) == pytest.approx(setup.model.embedding * 4 + 4, abs=0.01)


def test_memory_of_mlperfs_model_does_not_fit_one_accelerator_and_fits_eight() -> None:
    setup = RecommenderSetup(recommender("dlrm-mlperf"), H100, 55_296)
    one, two, eight = sum(recommender_memory(setup, np.array([1, 2, 8])).values(), np.zeros(3))
    assert eight < two < H100.memory_capacity < one


def test_memory_is_counted_class_by_class() -> None:
    model = Recommender(
        name="own", tables=6, embedding=8, bottom_mlp=(5, 4, 8), top_mlp=(56, 3, 1), rows=1000, pooling=2.0,
        element_bytes=2,
    )  # fmt: skip
    setup = RecommenderSetup(model, H100, 40, gradient_bytes=4)
    weights = 5 * 4 + 4 * 8 + 56 * 3 + 3
    pooled = 10 * 2 * 6 * 8
    assert {name: float(np.broadcast_to(part, 1)[0]) for name, part in recommender_memory(setup, 4).items()} == {
        "weights": 250 * 8 * 2 + 2 * weights,
        "gradients": 4 * weights,
        "states": 250 * 4 + 12 * weights,
        "activations": 10 * 2 * (5 + 4 + 8 + 56 + 3) + pooled,
        "logits": 10 * 4,
        "buffers": 1e9 + pooled,
    }


def test_what_no_source_gives_is_refused() -> None:
    setup = RecommenderSetup(recommender("dlrm-libra"), H100, 512 * 64)
    with pytest.raises(InputError, match="needs `pooling`"):
        recommender_step(setup, 64)
    with pytest.raises(InputError, match="needs `rows`"):
        recommender_memory(setup, 64)
    with pytest.raises(InputError, match="no peak rate for fp4"):
        recommender_step(replace(setup, model=THEMIS, precision="fp4"), 64)
