"""What commands print of serving."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evo_libra.quantities import number, time_text, time_unit
from evo_libra.ui.tables.memory_table import show_memory
from evo_libra.ui.tables.output import print_folded, print_table


def show_serving(serving: Mapping[str, Any]) -> None:
    """Print what users see, the split of prefill and decoding, and the memory."""
    print_folded(*_sentences(serving))
    for title, key in (
        ("prefill of a prompt", "prefill_ms"),
        ("a step of decoding", "decode_ms"),
        ("the cache on its way", "transfer_ms"),
    ):
        if split := serving.get(key):
            total = sum(split.values())
            unit, size = time_unit(total)
            rows = [[part, f"{time / size:.4g}", f"{100 * time / total:.1f}"] for part, time in split.items()]
            rows.append(["all", f"{total / size:.4g}", "100.0"])
            print_table(f"time of {title} [{unit}]", ("part", "time", "%"), rows, left=("part",))
    show_memory(serving)


def _sentences(serving: Mapping[str, Any]) -> list[str]:
    both = serving["replicas"] - serving["prefill_replicas"]
    pools = f", {serving['prefill_replicas']:,} more for prompts alone" if serving["prefill_replicas"] else ""
    if ahead := serving.get("prefill_parallelism"):
        pools += f" with {' '.join(f'{name} {degree}' for name, degree in ahead.items() if degree > 1) or 'tp 1'}"
    alone, upper = time_text(serving["ttft_one_user_ms"]), time_text(serving["ttft_ms"])
    first = f"first token after {alone}" + ("" if alone == upper else f" (alone) to {upper} (all at once)")
    who = f"{serving['concurrency']:,} of each of {both:,} replicas{pools}"
    rate = f"{number(serving['tokens_per_s'])} tokens/s, {number(serving['tokens_per_s_per_npu'])}"
    further, last = time_text(serving["tpot_ms"]), time_text(serving["request_ms"])
    found = [
        f"{serving['users']:,} users: {who}; {serving['input']:,} tokens in, {serving['output']:,} out",
        f"{first}, a further one each {further}, the last one after {last}",
        f"{rate} on each {serving['npu']}",
    ]
    if simulated := serving.get("simulated"):
        found += _simulated(simulated)
    if (reason := serving.get("not_simulated")) is not None:
        found.append(f"not simulated request by request: {reason}")
    if (joules := serving.get("energy_per_token_J")) is not None:
        dollars = serving.get("usd_per_Mtoken")
        money = "" if dollars is None else f", {number(dollars)} USD per million tokens"
        found.append(f"{number(joules)} J per token of NPUs and network{money}")
    return found


def _simulated(found: Mapping[str, Any]) -> list[str]:
    """Return what a simulation says, and where the formula is off."""
    apart, together = time_text(found["ttft_one_by_one_ms"]), time_text(found["ttft_at_once_ms"])
    first = f"first token after {apart}"
    if apart != together:
        first += f" where users ask one by one, {together} where all ask at once"
    rest = f"a further one each {time_text(found['tpot_ms'])}, {number(found['tokens_per_s'])} tokens/s"
    said = [f"simulated request by request: {first}; {rest}"]
    if not found["formula_holds"]:
        token, rate = (found["formula_off_percent"][name] for name in ("tpot", "tokens_per_s"))
        said.append(f"the formula is off by {token:+.0f} % in the time of a token, {rate:+.0f} % in tokens/s")
    return said
