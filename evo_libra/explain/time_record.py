"""The records of where the time of a design goes: workloads, communication, training, serving, other plans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from evo_libra.explain.as_json import INLINE


@dataclass(frozen=True, kw_only=True)
class DimensionTraffic:
    """Traffic of a collective or a message in a dimension, and its bytes over the bandwidth."""

    dimension: int
    npus_of_group: int | None = None
    traffic_MB: float
    time_ms: float


@dataclass(frozen=True, kw_only=True)
class Communication:
    """Collectives or messages that are alike, with their number.

    Attributes
    ----------
    collective, group : empty for a message, which uses one dimension.
    beyond_bandwidth_ms : what latency, endpoints and the pipeline add; None under LIBRA's time.
    """

    phase: str
    collective: str = ""
    group: str = ""
    count: float
    size_MB: float
    time_ms: float
    beyond_bandwidth_ms: float | None = None
    bottleneck_dimension: int | None
    dimensions: tuple[DimensionTraffic, ...]

    @property
    def label(self) -> str:
        """Its phase, what is sent, and the group."""
        return f"{self.phase.replace('_', ' ')} {f'{self.collective} of {self.group}' if self.group else 'messages'}"


@dataclass(frozen=True, kw_only=True)
class Memory:
    """The memory of an NPU by class, that in expansion memory, and the capacity; None where no source gives it."""

    memory_GB: Mapping[str, float]
    expansion_GB: Mapping[str, float] = field(default_factory=dict)
    memory_total_GB: float
    memory_limit_GB: float | None


@dataclass(frozen=True, kw_only=True)
class OptimizerStream:
    """A stream of a pass that runs alongside others, and whether it is the longest of them."""

    pass_: str
    stream: str
    time_ms: float
    binds: bool


@dataclass(frozen=True, kw_only=True)
class Training:
    """A training step; `split_ms` adds up to its time. Figures without a source are None.

    Attributes
    ----------
    stated_batch : sequences that objectives are of, where those of the step are others.
    between : ends of the bands of figures, by their keys; empty where nothing alike was measured.
    """

    npu: str
    stated_batch: int | None = None
    split_ms: Mapping[str, float]
    optimizer_streams: tuple[OptimizerStream, ...] = ()
    memory: Memory = field(metadata=INLINE)
    samples_per_s: float
    samples_per_s_per_npu: float
    model_flop_utilisation: float | None = None
    tokens_per_s: float | None = None
    tokens_per_s_per_npu: float | None = None
    training_tokens: float | None = None
    training_days: float | None = None
    power_MW: float | None = None
    energy_kJ: float | None = None
    energy_per_sample_J: float | None = None
    energy_per_token_J: float | None = None
    training_energy_MWh: float | None = None
    between: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Simulated:
    """Results of a simulated replica, request by request, and the error of the formula in %."""

    ttft_one_by_one_ms: float
    ttft_at_once_ms: float
    tpot_ms: float
    tokens_per_s: float
    formula_off_percent: Mapping[str, float]
    formula_holds: bool


@dataclass(frozen=True, kw_only=True)
class Serving:
    """Serving: latencies of users, and parts of time and memory. Figures without a source are None.

    Attributes
    ----------
    prefill_parallelism : of replicas that only process prompts, where it differs.
    ttft_mean_ms, ttft_p95_ms : to the first token in a steady state, on average and of all but one in twenty; `ttft_ms`
        is the mean where all ask at once. None of plans with pipelines, pools or expansion memory.
    tokens_per_s_one_out : while a server, or a tray of a rack, is out; None of what is no order.
    prefill_ms : of a prompt; `decode_ms` : of a step that gives each user of a replica a token.
    simulated : what a simulation says; `not_simulated` : why there is none.
    between : ends of the bands of figures, by their keys; empty where nothing alike was measured.
    """

    npu: str
    input: int
    output: float
    concurrency: int
    replicas: int
    prefill_replicas: int
    prefill_parallelism: Mapping[str, int] = field(default_factory=dict)
    users: int
    ttft_one_user_ms: float
    ttft_ms: float
    ttft_mean_ms: float | None = None
    ttft_p95_ms: float | None = None
    tpot_ms: float
    request_ms: float
    tokens_per_s: float
    tokens_per_s_per_npu: float
    tokens_per_s_one_out: float | None = None
    energy_per_token_J: float | None = None
    usd_per_Mtoken: float | None = None
    prefill_ms: Mapping[str, float]
    decode_ms: Mapping[str, float]
    transfer_ms: Mapping[str, float] | None = None
    simulated: Simulated | None = None
    not_simulated: str = ""
    memory: Memory = field(metadata=INLINE)
    between: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class OtherPlan:
    """Another plan on the same network; times are None where its groups do not fit the network."""

    change: str = ""
    plan: str
    time_ms: float | None
    slower_percent: float | None
    memory_GB: float
    fits_memory: bool
    most_memory: str = ""
    fits_network: bool


@dataclass(frozen=True, kw_only=True)
class Blocked:
    """A change of a plan that does not divide the workload, and why."""

    change: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Alternatives:
    """Other plans of a workload; `next_plan` is the fastest of them that fits, `faster_plans` their number."""

    changes: tuple[OtherPlan, ...]
    blocked: tuple[Blocked, ...]
    time_with_faster_network_ms: float
    faster_plans: int
    next_plan: OtherPlan | None = None


@dataclass(frozen=True, kw_only=True)
class Size:
    """The process groups and the plan of a workload, and how much one iteration of it is."""

    parallelism: Mapping[str, int]
    plan: str = ""
    plans: int | None = None
    plans_that_fit: int | None = None
    layers: int | None
    sequence: int | None
    batch_per_replica: int | None
    micro_batch: int | None
    global_batch: int | None


@dataclass(frozen=True, kw_only=True)
class WorkloadTime:
    """A workload: its size, its time, and what that is made of.

    Times of collectives are those without overlap, which the total takes into account.
    """

    name: str
    weight: float
    size: Size = field(metadata=INLINE)
    time_ms: float
    compute_ms: float
    training: Training | None = None
    serving: Serving | None = None
    alternatives: Alternatives | None = None
    collectives: tuple[Communication, ...]
    messages: tuple[Communication, ...]

    @property
    def sent(self) -> tuple[Communication, ...]:
        """Collectives, then messages."""
        return self.collectives + self.messages
