"""What a parallelisation plan must divide, and the plan as people write it."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, gcd

from evo_libra.workload.models.decoder import Decoder
from evo_libra.workload.parallelism import divisors, nearest_divisors
from evo_libra.workload.plans.placement_rules import placement_mistakes
from evo_libra.workload.plans.plans import DEGREES, NPU, PLACEMENTS, RECOMPUTE, Plans
from evo_libra.workload.training.training_setup import Setup


def plan_values(plan: Plans) -> dict[str, int]:
    """Return the degrees and the size of a microbatch of the first plan."""
    return {name: int(getattr(plan, name)[0]) for name in (*DEGREES, "micro_batch", "zero")}


def plan_text(plan: Plans) -> str:
    """Return the first plan in the notation.

    >>> from evo_libra.workload.plans.plans import one_plan
    >>> plan_text(one_plan(tp=8, pp=16, vp=2, dp=64, zero=1))
    'tp8 pp16x2 dp64 mb1 zero1'
    """
    value = plan_values(plan)
    parts = [f"{name}{value[name]}" for name in ("tp", "cp") if value[name] > 1]
    if value["pp"] > 1:
        parts.append(f"pp{value['pp']}" + (f"x{value['vp']}" if value["vp"] > 1 else ""))
    parts += [f"ep{value['ep']}"] if value["ep"] > 1 else []
    parts += [f"dp{value['dp']}", f"mb{value['micro_batch']}", f"zero{value['zero']}"]
    recompute, optimizer = RECOMPUTE[int(plan.recompute[0])], int(plan.optimizer[0])
    parts += [] if recompute == "none" else [recompute]
    return " ".join(parts + ([] if optimizer == NPU else [f"opt-{PLACEMENTS[optimizer]}"]))


def plan_mistakes(setup: Setup, plan: Plans) -> Iterator[tuple[str, str]]:
    """Yield what the first plan does not divide: the option, and a sentence with what would be allowed."""
    value, model = plan_values(plan), setup.decoder
    if model.heads % value["tp"]:
        yield "tp", f"found {value['tp']}; it must divide the {model.heads} heads: {_listed(model.heads)}"
    if setup.sequence % value["cp"]:
        near = nearest_divisors(setup.sequence, value["cp"])
        yield "cp", f"found {value['cp']}; it must divide the sequence of {setup.sequence:,} tokens; {near}"
    elif plan.sequence_parallel[0] and setup.sequence % (both := value["tp"] * value["cp"]):
        rule = f"sequence parallelism needs a multiple of tp {value['tp']} x cp {value['cp']} = {both}"
        yield "sequence", f"found {setup.sequence:,}; {rule}; `sequence_parallel: false` does without"
    yield from _stage_mistakes(setup, value)
    yield from _expert_mistakes(model, value)
    yield from _batch_mistakes(setup, value)
    yield from placement_mistakes(setup, plan)


def longest_stage(setup: Setup, stages: int) -> int:
    """Return the layers of the longest stage; where stages are balanced, embedding and head count as a layer each."""
    return ceil((setup.decoder.layers + 2 * setup.balanced) / stages)


def virtual_stages(setup: Setup, stages: int) -> list[int]:
    """Return how many virtual stages an NPU may have: as many as divide the layers of the longest stage.

    A balanced stage with the embedding or the head has a layer less, so that what divides its layers is right, too:
    Llama 3's 405B has 16 stages of 8, of which the first and the last one have 7, and 7 virtual stages.
    """
    if stages == 1:
        return [1]
    longest = longest_stage(setup, stages)
    less = divisors(longest - 1) if setup.balanced and longest > 1 else []
    return sorted({*divisors(longest), *less})


def _stage_mistakes(setup: Setup, value: dict[str, int]) -> Iterator[tuple[str, str]]:
    layers, stages, chunks = setup.decoder.layers + 2 * setup.balanced, value["pp"], value["vp"]
    what = f"{layers} layers" + (", embedding and head counted," if setup.balanced else "")
    allowed = ", ".join(map(str, virtual_stages(setup, stages)))
    if stages == 1 and chunks > 1:
        yield "vp", f"found {chunks}; virtual stages need a pipeline: pp of 2 or more"
    elif stages > layers:
        yield "pp", f"found {stages}; the {what} make {layers} stages at most"
    elif layers % stages and not setup.uneven:
        ways = "`uneven: true` allows a shorter stage"
        if not setup.balanced and (layers + 2) % stages == 0:
            ways += f", and `balanced: true` counts embedding and head, {layers + 2} in all"
        yield "pp", f"found {stages}; it must divide the {what.rstrip(',')}: {_listed(layers)}; {ways}"
    elif chunks not in virtual_stages(setup, stages):
        longest = longest_stage(setup, stages)
        less = f", or the {longest - 1} of one with embedding or head" if setup.balanced else ""
        kind = "the longest stage" if layers % stages else "a stage"
        yield "vp", f"found {chunks}; it must divide the {longest} layers of {kind}{less}: {allowed}"


def _expert_mistakes(model: Decoder, value: dict[str, int]) -> Iterator[tuple[str, str]]:
    experts, inside = model.expert_count, value["tp"] * value["cp"] * value["dp"]
    if value["ep"] == 1:
        return
    if experts == 1:
        yield "ep", f"found {value['ep']}; {model.name} has no experts, so that only 1 is allowed"
    elif experts % value["ep"]:
        allowed = _listed(gcd(experts, inside))
        yield "ep", f"found {value['ep']}; it must divide the {experts} experts: {allowed}"
    elif inside % value["ep"]:
        allowed = _listed(gcd(experts, inside))
        yield "ep", f"found {value['ep']}; it must divide tp x cp x dp = {inside:,} and the experts: {allowed}"


def _batch_mistakes(setup: Setup, value: dict[str, int]) -> Iterator[tuple[str, str]]:
    each = value["dp"] * value["micro_batch"]
    product = f"dp {value['dp']:,} x micro_batch {value['micro_batch']:,}"
    if setup.global_batch % each:
        yield "global_batch", f"found {setup.global_batch:,}; it must be a multiple of {product} = {each:,}"
    elif value["vp"] > 1 and setup.global_batch // each % value["pp"]:
        rule = f"an interleaved pipeline needs a multiple of pp {value['pp']} as microbatches"
        ways = f"vp 1 does without, and a global_batch of a multiple of {product} x pp {value['pp']} has them"
        yield "vp", f"found {value['vp']}; {rule}, and there are {setup.global_batch // each:,}; {ways}"


def _listed(number: int) -> str:
    return ", ".join(map(str, divisors(number)))
