"""Sections of where the time of a design goes: by workload, part, memory, plan and collective."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from evo_libra.explain.labels import cell, groups_text, percent, size_text
from evo_libra.explain.record import Breakdown
from evo_libra.explain.sheet import Section, Table, section, shares_table
from evo_libra.explain.time_record import (
    Alternatives,
    Communication,
    Memory,
    OptimizerStream,
    OtherPlan,
    Serving,
    Simulated,
    Training,
    WorkloadTime,
)
from evo_libra.quantities import number, time_text, time_unit

_AHEAD = (
    "Accesses to expansion memory run alongside the compute of a pass, read ahead; software that does not is slower "
    "(an approximation)."
)
_NPUS_AND_NETWORK = "NPUs and network"
_MIN_GB = 0.001
"""GB from which on a class of memory is shown."""


def workload_sections(breakdown: Breakdown) -> Iterator[Section]:
    """Yield a section of each workload."""
    several, powered = len(breakdown.workloads) > 1, _powered(breakdown)
    for one in breakdown.workloads:
        stated = None if one.training is None else one.training.stated_batch
        parts: tuple[Table | str | Iterable[Table | str], ...] = (
            size_text(one.size),
            _batch_text(one),
            () if one.training is None else training_parts(one.training, powered, _own_batch(one)),
            () if one.serving is None else serving_parts(one.serving, powered),
            () if one.alternatives is None else plan_parts(one.alternatives, several=several, batch=stated),
            communication_table(one, [d.dimension for d in breakdown.dimensions]),
        )
        yield section(f"{one.name} ({groups_text(one.size)}): {time_text(one.time_ms)}, {_compute_text(one)}", *parts)


def _powered(breakdown: Breakdown) -> str:
    """Return what draws the power of a design; its bill has network and NPUs first."""
    around = len(breakdown.system) > 2  # noqa: PLR2004 - rows of network and NPUs
    return "the whole order" if breakdown.order else "the whole system" if around else _NPUS_AND_NETWORK


def _own_batch(one: WorkloadTime) -> str:
    """Return the sequences of a step, where the file asks for others."""
    stated = None if one.training is None else one.training.stated_batch
    return "" if stated is None else f" of {one.size.global_batch:,} sequences"


def _batch_text(one: WorkloadTime) -> str:
    """Return the times of both batches, where that of a plan is not the one of the file; empty where it is."""
    batch, stated = one.size.global_batch, None if one.training is None else one.training.stated_batch
    if not batch or stated is None:
        return ""
    own, of_file = time_text(one.time_ms), time_text(one.time_ms * stated / batch)
    return f"{own} for its {batch:,} sequences, {of_file} for the {stated:,} of the file"


def _compute_text(one: WorkloadTime) -> str:
    # A part of a training step is called compute, and this is more: head, optimizer and bubble.
    compute = time_text(one.compute_ms)
    return f"{compute} on a network that costs no time" if one.training or one.serving else f"{compute} of it compute"


def training_parts(training: Training, powered: str = _NPUS_AND_NETWORK, batch: str = "") -> Iterator[Table | str]:
    """Yield the split, the memory and the throughput of a training step.

    `powered` is what draws its power, `batch` the sequences of the step where they need a name.
    """
    yield shares_table(f"time of a step{batch} by part", list(training.split_ms.items()))
    if training.optimizer_streams:
        yield streams_table(training.optimizer_streams)
    yield from memory_parts(training.memory)
    yield from _throughput(training)
    if training.training_days is not None:
        yield f"{cell(training.training_tokens or 0.0)} tokens take {_figure(training, 'training_days', 'days')}"
    for what in ("token", "sample"):
        if getattr(training, f"energy_per_{what}_J") is not None and training.power_MW is not None:
            joules = _figure(training, f"energy_per_{what}_J", f"J per {what}")
            energy = training.training_energy_MWh
            whole = "" if energy is None else f", {_figure(training, 'training_energy_MWh', 'MWh')} for all of them"
            yield f"{number(training.power_MW)} MW of {powered}, {joules}{whole}"


def _figure(report: Training | Serving, key: str, unit: str) -> str:
    """Return a figure of a report with its unit, and the ends of its band where it has one."""
    text = f"{number(getattr(report, key))} {unit}"
    if key not in report.between:
        return text
    low, high = report.between[key]
    return f"{text} ({number(low)} to {number(high)})"


def _throughput(training: Training) -> Iterator[str]:
    if training.tokens_per_s is None or training.tokens_per_s_per_npu is None:
        rate, each = _figure(training, "samples_per_s", "samples/s"), number(training.samples_per_s_per_npu)
        yield f"{rate}, {each} on each {training.npu}"
        return
    rate, each = _figure(training, "tokens_per_s", "tokens/s"), number(training.tokens_per_s_per_npu)
    low, high = training.between.get("model_flop_utilisation", (None, None))
    ends = "" if low is None or high is None else f" ({100 * low:.1f} to {100 * high:.1f})"
    used = f"model FLOP utilisation {100 * (training.model_flop_utilisation or 0.0):.1f} %{ends} of the peak in bf16"
    yield f"{rate}, {each} on each {training.npu}; {used}"


def streams_table(streams: Sequence[OptimizerStream], workload: str = "") -> Table:
    """Return what runs side by side in each pass of a workload, where the optimizer is not on the NPUs."""
    unit, size = time_unit(max(one.time_ms for one in streams))
    name = f"{workload}: " if workload else ""
    return Table(
        title=f"{name}what runs side by side in each pass of a microbatch [{unit}]",
        columns=("pass", "stream", "time", ""),
        rows=tuple((one.pass_, one.stream, cell(one.time_ms / size), "binds" if one.binds else "") for one in streams),
        words=("pass", "stream", ""),
        strong=tuple((row, 2) for row, one in enumerate(streams) if one.binds),
    )


def memory_parts(memory: Memory) -> Iterator[Table | str]:
    """Yield the memory of an NPU by class; a column for each tier where some of it is in expansion memory."""
    own, away = memory.memory_GB, memory.expansion_GB
    classes = [(kind, held, away.get(kind, 0.0)) for kind, held in own.items()]
    shown = [one for one in classes if one[1] + one[2] >= _MIN_GB]
    shown.append(("all", memory.memory_total_GB, sum(away.values())))
    tiers = ("own", "expansion") if away else ("GB",)
    limit = "" if memory.memory_limit_GB is None else f"; at most {cell(memory.memory_limit_GB)}"
    yield Table(
        title=f"memory of an NPU [GB]{limit}{' of its own' if away and limit else ''}",
        columns=("class", *tiers),
        rows=tuple((kind, *map(percent, held[: len(tiers)])) for kind, *held in shown),
        words=("class",),
    )
    if any(away.values()):
        yield _AHEAD


def serving_parts(serving: Serving, powered: str = _NPUS_AND_NETWORK) -> Iterator[Table | str]:
    """Yield what users see, the split of prefill and decoding, and the memory; `powered` is what draws its power."""
    yield from _users(serving, powered)
    for title, split in (
        ("time of prefill of a prompt", serving.prefill_ms),
        ("time of a step of decoding", serving.decode_ms),
        ("time of the cache on its way", serving.transfer_ms),
    ):
        if split:
            yield shares_table(title, list(split.items()), total=True)
    yield from memory_parts(serving.memory)


def _users(serving: Serving, powered: str) -> Iterator[str]:
    both = serving.replicas - serving.prefill_replicas
    pools = f", {serving.prefill_replicas:,} more for prompts alone" if serving.prefill_replicas else ""
    if ahead := serving.prefill_parallelism:
        pools += f" with {' '.join(f'{name} {degree}' for name, degree in ahead.items() if degree > 1) or 'tp 1'}"
    who = f"{serving.concurrency:,} of each of {both:,} replicas{pools}"
    yield f"{serving.users:,} users: {who}; {serving.input:,} tokens in, {serving.output:,} out"
    alone, upper = time_text(serving.ttft_one_user_ms), time_text(serving.ttft_ms)
    first = f"first token after {alone}" + ("" if alone == upper else f" (alone) to {upper} (all at once)")
    further, last = time_text(serving.tpot_ms), time_text(serving.request_ms)
    yield f"{first}, a further one each {further}, the last one after {last}"
    yield from _times_between(serving)
    if serving.ttft_mean_ms is not None and serving.ttft_p95_ms is not None:
        mean, most = time_text(serving.ttft_mean_ms), time_text(serving.ttft_p95_ms)
        yield f"in a steady state the first token after {mean} on average, within {most} for 19 of 20"
    rate, each = _figure(serving, "tokens_per_s", "tokens/s"), number(serving.tokens_per_s_per_npu)
    yield f"{rate}, {each} on each {serving.npu}"
    if serving.tokens_per_s_one_out is not None:
        yield f"{_figure(serving, 'tokens_per_s_one_out', 'tokens/s')} while a server, or a tray of a rack, is out"
    if serving.simulated is not None:
        yield from _simulated(serving.simulated)
    if serving.not_simulated:
        yield f"not simulated request by request: {serving.not_simulated}"
    if serving.energy_per_token_J is not None:
        dollars = serving.usd_per_Mtoken
        money = "" if dollars is None else f", {_figure(serving, 'usd_per_Mtoken', 'USD per million tokens')}"
        yield f"{_figure(serving, 'energy_per_token_J', 'J per token')} of {powered}{money}"


def _times_between(serving: Serving) -> Iterator[str]:
    """Yield the bands of the times that users see; nothing where none is known."""
    named = (("the first token", "ttft_ms"), ("a further one", "tpot_ms"), ("the last one", "request_ms"))
    ends = [(name, *serving.between[key]) for name, key in named if key in serving.between]
    if ends:
        texts = (f"{name} {time_text(low)} to {time_text(high)}" for name, low, high in ends)
        yield f"within their bands: {', '.join(texts)}"


def _simulated(found: Simulated) -> Iterator[str]:
    """Yield what a simulation says, and where the formula is off."""
    apart, together = time_text(found.ttft_one_by_one_ms), time_text(found.ttft_at_once_ms)
    at_once = "" if apart == together else f" where users ask one by one, {together} where all ask at once"
    rest = f"a further one each {time_text(found.tpot_ms)}, {number(found.tokens_per_s)} tokens/s"
    yield f"simulated request by request: first token after {apart}{at_once}; {rest}"
    if not found.formula_holds:
        token, rate = (found.formula_off_percent[name] for name in ("tpot", "tokens_per_s"))
        yield f"the formula is off by {token:+.0f} % in the time of a token, {rate:+.0f} % in tokens/s"


def plan_parts(found: Alternatives, *, several: bool, batch: int | None = None) -> Iterator[Table | str]:
    """Yield what other plans would take on the same network; times are those of all workloads together.

    A `batch` is the sequences that they are of, where those of the plan are others.
    """
    times = [one.time_ms for one in found.changes if one.time_ms is not None]
    unit, size = time_unit(max(times, default=1.0))
    of_batch = "" if batch is None else f", for {batch:,} sequences"
    yield Table(
        title=f"other plans on this network{of_batch} [{unit}]" + (", all workloads together" if several else ""),
        columns=("with", "time", "slower by [%]", "memory [GB]"),
        rows=tuple(_plan_row(one, size) for one in found.changes),
        words=("with",),
    )
    faster = f"{found.faster_plans:,} of the plans that fit are" if found.faster_plans else "no plan that fits is"
    following = found.next_plan
    best = ""
    if following is not None and following.time_ms is not None:
        best = f"; the fastest of the others is {following.plan}, {cell(following.time_ms / size)} {unit}"
    yield f"{faster} faster on this network{best}"
    yield f"with 10 % more bandwidth everywhere{of_batch}: {cell(found.time_with_faster_network_ms / size)} {unit}"
    yield from (f"no {one.change}: {one.reason}" for one in found.blocked)


def _plan_row(one: OtherPlan, size: float) -> tuple[str, str, str, str]:
    """Return what changes, the time in a unit of `size` ms, how much slower it is, and the memory."""
    memory = percent(one.memory_GB) + ("" if one.fits_memory else f", too much: {one.most_memory}")
    if one.time_ms is None or one.slower_percent is None:
        return one.change, "-", "does not fit the network", memory
    return one.change, cell(one.time_ms / size), f"{one.slower_percent:+.1f}", memory


def communication_table(workload: WorkloadTime, dimensions: Sequence[int]) -> Table:
    """Return the time of each collective and message, and of its bytes over the bandwidth of each dimension."""
    entries = workload.sent
    beyond = any(entry.beyond_bandwidth_ms is not None for entry in entries)
    ratio = ", and bytes over bandwidth of each" if beyond else " and"
    kinds, what = ("collective and message", "communication") if workload.messages else ("collective", "collectives")
    unit, size = time_unit(max((entry.time_ms for entry in entries), default=1.0))
    return Table(
        title=f"time{_own_batch(workload)} by {kinds}{ratio} dimension [{unit}]; bold is the bottleneck",
        columns=("phase", what, "time", *(f"dim {place}" for place in dimensions)),
        rows=tuple(_communication_row(entry, size) for entry in entries),
        folds=("phase", what),
        strong=tuple(
            (row, 3 + place)
            for row, entry in enumerate(entries)
            for place, traffic in enumerate(entry.dimensions)
            if traffic.dimension == entry.bottleneck_dimension
        ),
    )


def _communication_row(entry: Communication, size: float) -> tuple[str, ...]:
    what = f"{entry.collective} ({entry.group})" if entry.group else f"send over dim {entry.bottleneck_dimension}"
    times = (entry.time_ms, *(traffic.time_ms for traffic in entry.dimensions))
    return (entry.phase.replace("_", " "), f"{entry.count} {what}", *(cell(ms / size) for ms in times))
