"""What commands print of a training step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evo_libra.quantities import number, time_unit
from evo_libra.ui.tables.memory_table import show_memory
from evo_libra.ui.tables.output import print_folded, print_table
from evo_libra.ui.tables.plan_rows import plan_rows, plan_sentences

if TYPE_CHECKING:
    from rich.text import Text


def show_training(training: Mapping[str, Any]) -> None:
    """Print the split, the memory and the throughput of a training step."""
    split, total = training["split_ms"], sum(training["split_ms"].values())
    unit, size = time_unit(total)
    rows = [[part, f"{time / size:.4g}", f"{100 * time / total:.1f}"] for part, time in split.items()]
    print_table(f"time of a step by part [{unit}]", ("part", "time", "%"), rows, left=("part",))
    if "optimizer_streams" in training:
        show_streams(training["optimizer_streams"])
    show_memory(training)
    print_folded(*_sentences(training))


def show_streams(streams: Sequence[Mapping[str, Any]], workload: str = "") -> None:
    """Print what runs side by side in each pass of a workload, where the optimizer is not on the NPUs."""
    from rich.text import Text

    unit, size = time_unit(max(one["time_ms"] for one in streams))
    rows: list[list[str | Text]] = [
        [one["pass"], one["stream"], Text(f"{one['time_ms'] / size:.4g}", style="bold" if one["binds"] else ""),
         "binds" if one["binds"] else ""]
        for one in streams
    ]  # fmt: skip
    name = f"{workload}: " if workload else ""
    title = f"{name}what runs side by side in each pass of a microbatch [{unit}]"
    print_table(title, ("pass", "stream", "time", ""), rows, left=("pass", "stream", ""))


def _sentences(training: Mapping[str, Any]) -> list[str]:
    """Return throughput, days and energy, one sentence each."""
    found = []
    if "tokens_per_s" in training:
        rate, each = number(training["tokens_per_s"]), number(training["tokens_per_s_per_npu"])
        used = 100 * training["model_flop_utilisation"]
        found.append(
            f"{rate} tokens/s, {each} on each {training['npu']}; model FLOP utilisation {used:.1f} % "
            "of the peak in bf16"
        )
    else:
        rate, each = number(training["samples_per_s"]), number(training["samples_per_s_per_npu"])
        found.append(f"{rate} samples/s, {each} on each {training['npu']}")
    if "training_days" in training:
        found.append(f"{training['training_tokens']:.4g} tokens take {number(training['training_days'])} days")
    for what in ("token", "sample"):
        if (joules := training.get(f"energy_per_{what}_J")) is not None:
            text = f"{number(training['power_MW'])} MW of NPUs and network, {number(joules)} J per {what}"
            energy = training.get("training_energy_MWh")
            found.append(text + ("" if energy is None else f", {number(energy)} MWh for all of them"))
    return found


def show_alternatives(found: Mapping[str, Any], *, workloads: int) -> None:
    """Print what other plans would take on the same network; times are those of all workloads together."""
    times = [one["time_ms"] for one in found["changes"] if one["time_ms"] is not None]
    unit, size = time_unit(max(times, default=1.0))
    title = f"other plans on this network [{unit}]" + (", all workloads together" if workloads > 1 else "")
    rows = list(map(list, plan_rows(found, size)))
    print_table(title, ("with", "time", "slower by [%]", "memory [GB]"), rows, left=("with",))
    print_folded(*plan_sentences(found, unit, size))
