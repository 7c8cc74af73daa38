"""Published serving of 2025 and 2026: dense models and experts, one user to as many as memory holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.network.catalog.collective_latency import link_kind
from evo_libra.validation.source import Basis, PublishedRow, PublishedSource, published
from evo_libra.validation.training import NIC_EFFICIENCY
from evo_libra.workload.models.decoder import Decoder, decoder
from evo_libra.workload.plans.placement import per_byte
from evo_libra.workload.plans.plans import Plans, one_plan
from evo_libra.workload.plans.step_class import class_of_requests
from evo_libra.workload.serving.experts import ServedExperts
from evo_libra.workload.serving.load import burst, closed_loop, load_times
from evo_libra.workload.serving.memory import serving_memory
from evo_libra.workload.serving.phases import phases_of
from evo_libra.workload.serving.serving_plans import ServingPlans
from evo_libra.workload.serving.serving_setup import ServingSetup
from evo_libra.workload.serving.serving_step import served_times, slots_of
from evo_libra.workload.serving.stacks import SERVING_STACKS
from evo_libra.workload.training.races import PerByte

Row = Mapping[str, Any]
_MILLI = 1e-3
_SERVER, _NIC = 8, 50e9 * NIC_EFFICIENCY
"""NPUs of a server, and B/s that collectives reach on the NIC of each."""

_PLACES = 2_048
"""Requests that a rank takes at a time, at most, as TensorRT-LLM has it unless it is told otherwise."""

_REQUESTS = {
    (128, 128): 30_000, (128, 4096): 1_500, (1000, 2000): 1_500, (2048, 2048): 1_500, (5000, 500): 1_500,
    (20000, 2000): 1_000,
}  # fmt: skip
"""Requests of the recipe of a row by lengths, 3,000 of others: the last ones run with few others."""

_OTHERS = 3_000

QWEN_25 = Decoder(
    name="qwen2.5-72b", layers=80, hidden=8192, heads=64, kv_heads=8, head_width=128, feed_forward=29568, gated=True,
    vocabulary=152064, sequence=None, experts=None, latent=None, source="config.json, 2024",
)  # fmt: skip

_SERVED: Mapping[str, Mapping[str, Any]] = {
    "tt.qwen72b": {"stack": "vllm"},
    "infx.dsr1.h200": {"stack": "sglang"},
    "infx.dsr1.b200": {"stack": "sglang", "weights": "fp8", "expert_weights": "nvfp4"},
    "infx.gptoss": {"stack": "vllm", "weights": "bf16", "expert_weights": "mxfp4"},
    "trt.dsr1.b200": {"stack": "trtllm", "weights": "fp8", "expert_weights": "nvfp4"},
    "trt10.llama-3.1-405b": {"stack": "trtllm", "weights": "nvfp4", "tp": 4},
    "trt10": {"stack": "trtllm"},
    "sgl": {"stack": "any", "experts": ServedExperts(redundant=32, two_batches=True)},
}
"""Software and precisions of the rows whose names start so, the first that fits.

SGLang's replicas for prompts have 32 redundant experts and overlap two batches (lmsys.org, May 2025).
"""


def rows_of(*starts: str) -> list[Row]:
    """Return the rows whose names start so, with their software."""
    rows = [row for row in published("serving_rows_2026.json")["rows"] if row["id"].startswith(starts)]
    return [row | next((more for start, more in _SERVED.items() if row["id"].startswith(start)), {}) for row in rows]


def setup_of(row: Row) -> ServingSetup:
    """Return what a row serves, and on what."""
    model = QWEN_25 if row["model"] == QWEN_25.name else decoder(row["model"])
    return ServingSetup(
        decoder=model, accelerator=accelerator(row["npu"]), prompt=row["input"], answer=row["output"],
        weights=row["weights"], cache=row.get("cache", "fp8"), stack=SERVING_STACKS[row["stack"]],
        expert_weights=row.get("expert_weights"), experts=row.get("experts", ServedExperts()),
    )  # fmt: skip


def _npus(row: Row) -> int:
    return int(row.get("npus", row.get("tp", 1)))


def _network(setup: ServingSetup, npus: int, plan: Plans) -> PerByte:
    """Return the seconds of traffic in servers of eight on InfiniBand of 400 Gb/s, and what software takes there."""
    npu, inside = setup.accelerator, min(_SERVER, npus)
    link = next(iter(npu.bus), "")
    ports = npu.wire_rate(link) * npu.bus_constants(link).large_share if link else _NIC
    per_token = max((part.per_token for layer in setup.decoder.stack.kinds for part in layer), default=0)
    return per_byte(
        np.array([[inside], [max(npus // inside, 1)]]), np.array([[ports], [_NIC]]), plan, max(per_token, 1),
        links=(link_kind(link), "infiniband"),
    )  # fmt: skip


class Server:
    """The replicas of a row, with some users each."""

    def __init__(self, row: Row) -> None:
        self.row, self.setup, self.npus, self.tp = row, setup_of(row), _npus(row), int(row.get("tp", 1))

    def plan(self, users: int) -> ServingPlans:
        """Return the plan with some users of a replica."""
        plan = one_plan(tp=self.tp, ep=self.row.get("ep", 1), dp=self.npus // self.tp, micro_batch=users)
        return ServingPlans(plan, np.zeros(1, dtype=np.int64))

    def seconds(self, users: int) -> dict[str, float]:
        """Return the times of a request, its first token, a further token, and the first token of one user."""
        plan = self.plan(users)
        times = served_times(self.setup, plan, pools=False)
        network = _network(self.setup, self.npus, plan.plans)
        return {name: float(getattr(times, name)(network)[0]) for name in ("request", "first", "token", "alone")}

    @property
    def places(self) -> int:
        """Users of a replica that its memory holds, at most `_PLACES`."""
        one, two = (self._memory(users) for users in (1, 2))
        capacity = self.setup.accelerator.memory_capacity
        return int(min((capacity - one) // (two - one) + 1, _PLACES))

    def _memory(self, users: int) -> float:
        return float(np.ravel(sum(serving_memory(self.setup, self.plan(users).plans).values(), np.zeros(1)))[0])

    def steady_rate(self) -> float:
        """Return tokens/s of answers with as many users as memory holds."""
        return self.rate(self.places)

    def rate(self, users: int) -> float:
        """Return tokens/s of answers with some users of a replica."""
        return users * self.npus / self.tp * self.setup.answer / self.seconds(users)["request"]

    def rate_of_recipe(self) -> float:
        """Return tokens/s of answers of a finite number of requests: whole waves, and a last one with few users."""
        replicas = self.npus // self.tp
        count = _REQUESTS.get((self.row["input"], self.row["output"]), _OTHERS) / replicas
        users = min(self.places, int(count))
        whole, last = divmod(count, users)
        seconds = whole * self.seconds(users)["request"] + (self.seconds(max(round(last), 1))["request"] if last else 0)
        return count * replicas * self.setup.answer / seconds

    def mean_first(self, users: int) -> float:
        """Return the mean s to the first token of ten requests of each user, whose first ones come at once."""
        plan = self.plan(users)
        times = load_times(self.setup, plan, _network(self.setup, self.npus, plan.plans))
        return 0.9 * closed_loop(times, users).first + 0.1 * burst(times, users)

    def prompt_rate(self) -> float:
        """Return tokens/s of prompts of an NPU of replicas that process nothing else."""
        plans = self.plan(1).plans
        seconds_of = _network(self.setup, self.npus, plans)
        slots = slots_of(self.setup, phases_of(self.setup, plans).slot)
        return float(self.setup.prompt / max(float(np.ravel(slot(seconds_of))[0]) for slot in slots))


def _figures(row: Row) -> Iterator[tuple[str, float, float, str]]:
    """Yield the name of each figure of a row, as it was published and as it is computed, and its unit."""
    server = Server(row)
    if row.get("at") == "prompt":
        yield "prompts", row["tokens_per_s"], server.prompt_rate(), "tokens/s"
    elif row.get("at") == "most" or "concurrency" not in row:
        finite = server.tp < server.npus or row["weights"] == "nvfp4"
        yield "most", row["tokens_per_s"], server.rate_of_recipe() if finite else server.steady_rate(), "tokens/s"
    else:
        users = row["concurrency"] * server.tp // server.npus
        seconds = server.seconds(users)
        if "token_ms" in row:
            yield "token", row["token_ms"], seconds["token"] / _MILLI, "ms"
        if "tokens_per_s" in row:
            yield "rate", row["tokens_per_s"], server.rate(users), "tokens/s"
        if row.get("first_ms"):
            yield "first-token", row["first_ms"], seconds["alone"] / _MILLI, "ms"
        if "ttft_mean_ms" in row:
            yield "mean-first-token", row["ttft_mean_ms"], server.mean_first(users) / _MILLI, "ms"


def _rows(*starts: str) -> Callable[[], Iterator[PublishedRow]]:
    def found() -> Iterator[PublishedRow]:
        for row in rows_of(*starts):
            of, year = class_of_requests(setup_of(row)), 2026 if row["id"].startswith("infx") else 2025
            for name, measured, computed, unit in _figures(row):
                yield PublishedRow(
                    id=f"{row['id']}.{name}", published=measured, ours=computed, unit=unit, step=of, year=year,
                    model=row["model"],
                )  # fmt: skip

    return found


_TABLES = "other constants are those of tables of single kernels and collectives"
SERVING_2026 = (
    PublishedSource(
        name="vllm-one-user", group="serving", basis=Basis.FITTED, rows=_rows("tt."),
        title="Qwen2.5 72B in bf16 on 2 H100, vLLM 2025: time of a token and first token of one user",
        note=f"the time of a layer and 6 ms of the server are fitted to them; {_TABLES}",
    ),
    PublishedSource(
        name="trtllm-most-dense", group="serving", rows=_rows("trt10.llama-3.1-8b"),
        title="TensorRT-LLM 1.0, 2025, Llama 3.1 8B in fp8 on one H100: most tokens a second",
        note="as many users as memory holds, 2,048 at most",
    ),
    PublishedSource(
        name="trtllm-most-fp4", group="serving", rows=_rows("trt10.llama-3.1-405b"),
        title="TensorRT-LLM 1.0, 2025, Llama 3.1 405B in NVFP4 on 4 B200: most tokens a second",
        note="the cache in fp8 is assumed; requests are as many as the recipe runs",
    ),
    PublishedSource(
        name="sglang-deepseek", group="serving", basis=Basis.FITTED, rows=_rows("infx.dsr1.h200"),
        title="SGLang 0.5.7, 2026, DeepSeek-R1 in fp8 on 8 H200, TP8, 4 to 64 users: time of a token, tokens a second, "
        "mean first token",
        note="10 us of a layer with experts, 100 ms of a prompt's pass and 150 ms of the server are fitted to them; "
        f"{_TABLES}",
    ),
    PublishedSource(
        name="sglang-deepseek-fp4", group="serving", rows=_rows("infx.dsr1.b200"),
        title="SGLang 0.5.6, 2026, DeepSeek-R1 with experts in NVFP4 on 8 B200, TP8 EP8: tokens a second, mean "
        "first token",
        note="weights besides experts in fp8 are assumed",
    ),
    PublishedSource(
        name="vllm-gpt-oss", group="serving", rows=_rows("infx.gptoss"),
        title="vLLM, 2026, gpt-oss-120b with experts in MXFP4 on 8 H100, TP8, 4 to 64 users: time of a token",
    ),
    PublishedSource(
        name="trtllm-experts-in-step", group="serving", basis=Basis.FITTED, rows=_rows("trt10.qwen3", "trt.dsr1.b200"),
        title="TensorRT-LLM 2025, attention data parallelism with EP8: Qwen3-235B in fp8 on 8 H100, DeepSeek-R1 with "
        "experts in NVFP4 on 8 B200: most tokens a second",
        note="two constants of ranks in step are fitted to them; requests are as many as the recipe runs",
    ),
    PublishedSource(
        name="sglang-prompts", group="serving", rows=_rows("sgl."),
        title="SGLang, 2025, DeepSeek-V3 in fp8 on 32 H100, EP32: tokens of prompts a second of an NPU",
        note="32 redundant experts, two batches that overlap",
    ),
)  # fmt: skip
