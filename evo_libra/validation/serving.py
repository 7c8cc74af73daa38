"""Published serving: Llama 2 on A100 and H100, and xFasterTransformer on Xeons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from evo_libra.arrays import GIGA, FloatArray
from evo_libra.network.catalog.accelerator import Accelerator
from evo_libra.network.catalog.accelerators import accelerator, read_accelerator
from evo_libra.network.catalog.collective_latency import link_kind
from evo_libra.validation.source import Basis, PublishedRow, PublishedSource, published
from evo_libra.validation.training import SERVER_LINKS, cluster_of
from evo_libra.workload.models.decoder import Decoder, decoder
from evo_libra.workload.plans.placement import per_byte
from evo_libra.workload.plans.plans import Plans, one_plan
from evo_libra.workload.plans.step_class import DENSE, StepClass
from evo_libra.workload.plans.step_class import SERVING as SERVED
from evo_libra.workload.serving.phases import phases_of
from evo_libra.workload.serving.serving_plans import ServingPlans
from evo_libra.workload.serving.serving_setup import ServingSetup
from evo_libra.workload.serving.serving_step import ServedTimes, served_times
from evo_libra.workload.serving.stacks import SERVING_STACKS
from evo_libra.workload.training.races import PerByte

ServingRow = Mapping[str, Any]


def serving_rows() -> list[ServingRow]:
    """Return the public rows of requests of a single user."""
    return list(published("serving_rows.json")["llama2_latency"])


def serving_setup_of(row: ServingRow) -> ServingSetup:
    """Return what a row serves, and on what."""
    npu, stack = accelerator(row["npu"]), SERVING_STACKS["nccl"]
    return ServingSetup(decoder(row["model"]), npu, row["input"], row["output"], stack=stack)


def request_seconds(row: ServingRow, setup: ServingSetup) -> float:
    """Return the seconds of a row's request, on a server of eight."""
    plan = one_plan(tp=row["tp"])
    times = served_times(setup, ServingPlans(plan, np.zeros(1, dtype=np.int64)), pools=False)
    return float(times.request(network_of(setup.accelerator, row["tp"], plan))[0])


def network_of(npu: Accelerator, npus: int, plan: Plans, experts_per_token: int = 1) -> PerByte:
    """Return the seconds of traffic in servers of eight on InfiniBand, and what software takes on their links."""
    links = (link_kind(SERVER_LINKS[npu.name]), "infiniband")
    return per_byte(*cluster_of(npu, npus), plan, experts_per_token, links=links)


def with_constants(setup: ServingSetup, constants: Sequence[float] | FloatArray) -> ServingSetup:
    """Return a setup with another time of a layer beyond products and bytes, and another factor on collectives."""
    return replace(setup, stack=replace(setup.stack, layer=float(constants[0]), nccl=float(constants[1])))


def _rows() -> Iterator[PublishedRow]:
    for row in serving_rows():
        yield PublishedRow(
            row["id"],
            row["latency_s"],
            request_seconds(row, serving_setup_of(row)),
            "s",
            *_of(row["npu"], "bf16", 2024, row["model"]),
        )


def _of(npu: str, precision: str, year: int, model: str) -> tuple[StepClass, int, str]:
    return StepClass(npu, precision, DENSE, SERVED), year, model


def _sockets(model: Decoder, sockets: int) -> float:
    """Return the seconds of a token of one user on a number of sockets, two per server."""
    about = published("serving_rows.json")["xfastertransformer"]
    npu = read_accelerator("socket", about["socket"])
    stack = SERVING_STACKS["xfastertransformer"]
    setup = ServingSetup(model, npu, about["input"], about["output"], stack=stack, attention="slim")
    plan = one_plan(tp=sockets)
    npus = np.array([[2], [max(sockets // 2, 1)]])
    rates = np.array([[about["socket_GBps"] * GIGA], [about["port_GBps"] * GIGA]])
    return float(phases_of(setup, plan).decode(per_byte(npus, rates, plan))[0])


QWEN_72B = Decoder(
    name="qwen-72b", layers=80, hidden=8192, heads=64, kv_heads=64, head_width=128, feed_forward=24576, gated=True,
    vocabulary=152064, sequence=None, experts=None, latent=None, source="",
)  # fmt: skip


def _xeons() -> Iterator[PublishedRow]:
    about, llama = published("serving_rows.json")["xfastertransformer"], decoder("llama-2-70b")
    gain, token = about["gain"], about["qwen_72b_4_sockets_ms"]
    yield PublishedRow(gain["id"], gain["value"], _sockets(llama, 2) / _sockets(llama, 8), "x")
    yield PublishedRow(token["id"], token["value"], _sockets(QWEN_72B, 4) / _MILLI, "ms")


_MILLI = 1e-3


def _nim() -> Iterator[PublishedRow]:
    about = published("serving_rows.json")["nim"]
    npu, model, tp = accelerator(about["npu"]), decoder(about["model"]), about["tp"]
    seconds_of = network_of(npu, tp, one_plan(tp=tp))
    for row in about["rows"]:
        users = row["concurrency"]
        setup = ServingSetup(
            decoder=model, accelerator=npu, prompt=row["input"], answer=row["output"], weights=about["weights"],
            cache=about["weights"],
        )  # fmt: skip
        plan = ServingPlans(one_plan(tp=tp, micro_batch=users), np.zeros(1, dtype=np.int64))
        times = served_times(setup, plan, pools=False)
        first, token, request = (float(time(seconds_of)[0]) for time in (times.alone, times.token, times.request))
        name, of = (
            f"{row['input']}-{row['output']}.{users}-users",
            _of(about["npu"], about["weights"], 2025, about["model"]),
        )
        if "first_ms" in row:
            yield PublishedRow(f"{name}.first-token", row["first_ms"], first / _MILLI, "ms", *of)
        yield PublishedRow(f"{name}.token", row["token_ms"], token / _MILLI, "ms", *of)
        yield PublishedRow(f"{name}.rate", row["tokens_per_s"], users * setup.answer / request, "tokens/s", *of)


def _tensorrt() -> Iterator[PublishedRow]:
    about = published("serving_rows.json")["tensorrt_llm"]
    for row in about["first_token"]:
        times, seconds_of = _of_tensorrt(about, row["model"], {**row, "concurrency": 1, "output": 2})
        name = f"{row['npu']}.{row['model']}.{row['input']}.first-token"
        yield PublishedRow(
            name,
            row["first_ms"],
            float(times.alone(seconds_of)[0]) / _MILLI,
            "ms",
            *_of(row["npu"], about["weights"][row["npu"]], 2023, row["model"]),
        )
    for row in about["throughput"]:
        times, seconds_of = _of_tensorrt(about, about["throughput_model"], row)
        rate = row["concurrency"] * row["output"] / float(times.request(seconds_of)[0]) / row["tp"]
        name = f"{row['npu']}.{about['throughput_model']}.{row['input']}-{row['output']}.rate"
        yield PublishedRow(
            name,
            row["tokens_per_s_per_npu"],
            rate,
            "tokens/s",
            *_of(row["npu"], about["weights"][row["npu"]], 2023, about["throughput_model"]),
        )


def _of_tensorrt(about: Mapping[str, Any], model: str, row: ServingRow) -> tuple[ServedTimes, PerByte]:
    npu, precision = accelerator(row["npu"]), about["weights"][row["npu"]]
    setup = ServingSetup(
        decoder=decoder(model), accelerator=npu, prompt=row["input"], answer=row["output"], weights=precision,
        cache=precision, stack=SERVING_STACKS["nccl"],
    )  # fmt: skip
    plan = one_plan(tp=row["tp"], micro_batch=row["concurrency"])
    times = served_times(setup, ServingPlans(plan, np.zeros(1, dtype=np.int64)), pools=False)
    return times, network_of(npu, row["tp"], plan)


SERVING = (
    PublishedSource(
        name="llama-2-latency",
        group="serving",
        title="Llama 2 7B to 70B on A100 and H100, one user, 200 tokens in and 200 out: latency (Kundu et al. 2024)",
        rows=_rows,
        anchor="on the A100 rows GenZ 30 % mean, LLMCompass 70, Vidur 12, Rapid-LLM 5 to 12",
        note="transcribed by a third party, possibly predictions in part",
        basis=Basis.FITTED,
    ),
    PublishedSource(
        name="nim",
        group="serving",
        title="NVIDIA NIM 1.8.0, Llama 3.3 70B in fp8 on two H100, 1 to 50 users: first token of one, time of a token, "
        "tokens a second",
        rows=_nim,
        note="other software: its own time of a layer, and decoding that shares the passes of prompts",
    ),
    PublishedSource(
        name="tensorrt-llm",
        group="serving",
        title="TensorRT-LLM 0.5 and 0.6.1 on H100 and A100: first tokens of LLaMA 7B and 70B, tokens a second of 7B "
        "with 48 to 768 requests",
        rows=_tensorrt,
        note="prompts of many requests run in one pass there, which matters where they have 128 tokens; "
        "70B with many requests is left out, as kernels of that version read the cache once for each head of queries",
    ),
    PublishedSource(
        name="xfastertransformer",
        group="serving",
        title="xFasterTransformer on Xeons: gain of Llama 2 70B from one server to four, time of a token of 72B",
        rows=_xeons,
        note="consistency check: the first row fixes the one free constant; sockets, their memory bandwidth and the "
        "model of 72B are assumed",
        basis=Basis.FITTED,
    ),
)
