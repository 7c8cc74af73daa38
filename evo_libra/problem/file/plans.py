"""From the parallelisation of a problem file to plans, and the mistakes of its training steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evo_libra.arrays import GIGA
from evo_libra.files.mistakes import KeyPath
from evo_libra.problem.file.offload import places_of
from evo_libra.problem.file.precisions import precisions_on
from evo_libra.problem.file.spec import WorkloadSpec
from evo_libra.problem.file.training_spec import TrainingSpec
from evo_libra.workload.models.decoder import Decoder
from evo_libra.workload.plans.plan_rules import plan_mistakes
from evo_libra.workload.plans.plan_space import OpenPlans, PlanSpace, plan_table
from evo_libra.workload.plans.plans import DEGREES, EVERY_LAYER, PLACEMENTS, SCHEDULES, SHARDED_WEIGHTS, Plans, one_plan
from evo_libra.workload.plans.recomputation import lacking_modules, recompute_of
from evo_libra.workload.plans.schedules import overlaps_experts
from evo_libra.workload.training.advice import fitting_option
from evo_libra.workload.training.memory import memory_on_npu
from evo_libra.workload.training.training_setup import Setup
from evo_libra.workload.training.training_table import TrainingTable


@dataclass(frozen=True)
class PlanChoices:
    """Options of a plan in a file: their values, None for all that divide.

    Attributes
    ----------
    degrees : of tensor, context, pipeline and expert parallelism, and virtual stages.
    dp : replicas; None for the NPUs that are left.
    options : size of a microbatch, stage of ZeRO, recomputation, place of the optimizer.
    flags : on or off; None is for sequence parallelism where there is a tensor parallel group.
    orders, precisions : how groups lie on the network, and precisions of linear layers.
    """

    degrees: Mapping[str, tuple[int, ...] | None]
    dp: tuple[int, ...] | None
    options: Mapping[str, tuple[int, ...] | None]
    flags: Mapping[str, tuple[bool | None, ...]]
    orders: tuple[tuple[str, ...], ...]
    precisions: tuple[str, ...]

    @property
    def open(self) -> bool:
        """Whether there is anything to choose, expansion memory aside."""
        values = [*self.degrees.values(), *self.options.values(), *self.flags.values(), self.orders, self.precisions]
        return any(value is None or len(value) > 1 for value in values) or len(self.dp or ()) > 1

    def plan(self, dp: int) -> Plans:
        """Return the plan of a file that leaves nothing open, with its replicas."""
        chosen = {**self.degrees, **self.options}
        values = {name: value[0] for name, value in chosen.items() if value is not None}
        flags = {name: value[0] for name, value in self.flags.items()}
        split = flags.pop("sequence_parallel")
        return one_plan(
            **values, dp=dp, sequence_parallel=values["tp"] > 1 if split is None else split,
            **{name: bool(on) for name, on in flags.items()},
        )  # fmt: skip


def choices_of(spec: WorkloadSpec, training: TrainingSpec) -> PlanChoices:
    """Return the choices of the plans of a workload."""
    given: dict[str, Any] = {str(name): degree for name, degree in dict(spec.parallelism).items()}
    overlap, split = training.overlap, training.sequence_parallel
    recompute = values_of(training.recompute) or ()
    if training.attention == "fused" and "none" in recompute:
        # Fused attention computes its scores again anyway: selective recomputation is none.
        recompute = tuple(name for name in recompute if name not in ("selective", "core_attn"))
    orders = training.order if isinstance(training.order[0], tuple) else (training.order,)
    return PlanChoices(
        degrees={name: values_of(given.get(name, 1)) for name in DEGREES if name != "dp"},
        dp=values_of(given["dp"]) if "dp" in given else None,
        options={
            "micro_batch": values_of(training.micro_batch),
            "zero": values_of(training.zero),
            "recompute": tuple(dict.fromkeys(map(recompute_of, recompute))),
            "offloaded": tuple(EVERY_LAYER if one == "all" else one for one in values_of(training.offload_layers)),
            "replicate": values_of(training.replicate),
            "schedule": tuple(map(SCHEDULES.index, values_of(training.schedule))),
            "optimizer": tuple(PLACEMENTS.index(place) for place in places_of(training.optimizer)),
        },
        flags={
            "sequence_parallel": (None,) if split == "auto" else values_of(split),
            "overlap_tp": _tensor_overlaps(training, given.get("tp", 1)),
            "overlap_pp": values_of(overlap.pp),
            "overlap_dp": values_of(overlap.dp),
            "overlap_ep": values_of(overlap.ep),
            "reshard": values_of(training.reshard),
            "ulysses": values_of(training.ulysses),
        },
        orders=tuple(tuple(map(str, order)) for order in orders),
        precisions=values_of(training.precision) or (),
    )  # fmt: skip


def _tensor_overlaps(training: TrainingSpec, degrees: Any) -> tuple[bool, ...]:  # noqa: ANN401 - any value of the schema
    """Return the values of the overlap; if the degree is open, a group that leaves its domain has plans without.

    A group of the only degree of a file is where the file says, with the overlap that the file says.
    """
    several = values_of(degrees) is None or len(values_of(degrees)) > 1
    without = (False,) if training.tp_domain == "any" and several else ()
    return tuple(dict.fromkeys((*values_of(training.overlap.tp), *without)))


def values_of(given: Any) -> Any:  # noqa: ANN401 - any value of the schema
    """Return the values of a key; None for all that divide."""
    if given == "any":
        return None
    return tuple(dict.fromkeys(given)) if isinstance(given, tuple) else (given,)


def table_of(
    name: str,
    choices: PlanChoices,
    setups: tuple[Setup, ...],
    npus: Sequence[int],
    *,
    training_tokens: float | None,
    capacities: tuple[float, ...],
) -> TrainingTable:
    """Return the table of the plans of a workload, which may be empty; the NPUs are those of each setup."""
    degrees: Mapping[str, Any] = choices.degrees
    space = PlanSpace(
        npus[0], **degrees, micro_batch=choices.options["micro_batch"], dp=choices.dp,
        zero=choices.options["zero"] or (), recompute=choices.options["recompute"] or (),
        optimizer=choices.options["optimizer"] or (), offloaded=choices.options["offloaded"] or (),
        schedule=choices.options["schedule"] or (), replicate=choices.options["replicate"] or (),
    )  # fmt: skip
    found = OpenPlans(setups, space, choices.flags, choices.orders, tuple(npus))
    return plan_table(name, found, training_tokens=training_tokens, capacities=capacities)


def why_none(choices: PlanChoices, setup: Setup, npus: int) -> str:
    """Return the reason why no plan is possible: the rule that the plan of the first values breaks, as a sentence."""
    first = {name: (1 if value is None else value[0]) for name, value in {**choices.degrees, **choices.options}.items()}
    groups = first["tp"] * first["cp"] * first["pp"]
    if npus % groups:
        return f"tp {first['tp']} x cp {first['cp']} x pp {first['pp']} does not divide the {npus:,} NPUs"
    # Without the overlap of its traffic a tensor parallel group may leave its domain, if any plan is without.
    plan = one_plan(**first, dp=npus // groups, overlap_tp=bool(choices.flags["overlap_tp"][-1]))
    return next((f"{key}: {message}" for key, message in plan_mistakes(setup, plan)), "dp allows none of them")


def nearest(table: TrainingTable, npu: int = 0) -> str:
    """Return the plan of an accelerator that needs the least memory, and what would make it fit, as a sentence."""
    mine = np.flatnonzero(table.npu == npu)
    best = int(mine[table.memory[mine].argmin()])
    setup, plan, capacity = table.setups[table.setup[best]], table.plans.select(np.array([best])), table.capacity[best]
    used = {kind: float(np.ravel(bytes_)[0]) for kind, bytes_ in memory_on_npu(setup, plan).items()}
    largest = sorted(used.items(), key=lambda one: -one[1])[:3]
    classes = ", ".join(f"{kind} {bytes_ / GIGA:.1f}" for kind, bytes_ in largest)
    advice = fitting_option(setup, plan, auto=True, capacity=float(capacity))
    return (
        f"none of the {len(mine):,} plans fits {capacity / GIGA:.4g} GB; the smallest, {table.text(best)}, "
        f"needs {sum(used.values()) / GIGA:.1f} GB ({classes}): {advice}"
    )


def batches_of(training: TrainingSpec, npus: int) -> tuple[int, ...]:
    """Return the batches of a step that plans of some NPUs may have, the nearest to the stated one first.

    Of a batch that may differ, those that powers of two of replicas divide together with all odd factors of the
    NPUs: the nearest multiple for each power. Others are divided by fewer plans, and train as fast.

    >>> from evo_libra.problem.file.training_spec import BatchSpec
    >>> spec = TrainingSpec(sequence=4096, global_batch=BatchSpec(about=15360, within=0.02))
    >>> batches_of(spec, 8192), batches_of(spec, 8064)
    ((15360,), (15372, 15120))
    """
    given = training.global_batch
    if isinstance(given, int):
        return (given,)
    odd = npus // (npus & -npus)
    units = [odd << power for power in range(given.about.bit_length()) if npus % (odd << power) == 0]
    near = {unit * max(round(given.about / unit), 1) for unit in units}
    found = [batch for batch in near if abs(batch - given.about) <= given.within * given.about]
    return tuple(sorted(found, key=lambda batch: (abs(batch - given.about), batch))) or (given.about,)


def with_precision(setup: Setup, precisions: tuple[str, ...]) -> tuple[Setup, ...]:
    """Return a setup once for each precision that its accelerator has kernels of; of none, a mistake, for each."""
    run = precisions_on(setup.accelerator, precisions) or precisions
    return tuple(replace(setup, precision=precision) for precision in run)


_LAYER_KEYS = ("compute_TFLOPS", "memory_GBps", "compute_scale", "groups")
"""Keys of tables of layers, which a training step does without."""

_RECOMMENDER_KEYS = {"global_batch", "precision", "gradients", "overlap"}
"""Keys of `training` that a recommendation model uses."""


def recommender_mistakes(training: TrainingSpec, degrees: Mapping[str, Any]) -> Iterator[tuple[KeyPath, str]]:
    """Yield the keys that a recommendation model has no use for."""
    for key in sorted(training.model_fields_set - _RECOMMENDER_KEYS):
        yield ("training", key), "this key is of language models; a recommendation model has no use for it"
    for key, value in (("precision", training.precision), ("overlap.dp", training.overlap.dp)):
        if isinstance(value, tuple):
            yield ("training", *key.split(".")), "a recommendation model has one plan; a single value is needed"
    for key in ("tp", "pp", "ep"):
        if key in training.overlap.model_fields_set and getattr(training.overlap, key):
            yield ("training", "overlap", key), "a recommendation model sends nothing of this kind; leave this key out"
    for group, degree in degrees.items():
        if group != "dp" and degree != 1:
            yield ("parallelism", group), f"found {degree}; all NPUs share a recommendation model's tables and batch"


def memory_mistakes(model: Decoder, choices: PlanChoices) -> Iterator[tuple[KeyPath, str]]:
    """Yield modules that run again and that the model has not, and choices that no plan of the file can have."""
    for message in lacking_modules(model, choices.options["recompute"] or ()):
        yield ("training", "recompute"), message
    if choices.flags["ulysses"] == (True,) and choices.degrees["cp"] == (1,):
        message = "found true; only a context parallel group, cp of 2 or more, exchanges heads, and the file has none"
        yield ("training", "ulysses"), message
    if choices.flags["reshard"] == (False,) and SHARDED_WEIGHTS not in (choices.options["zero"] or ()):
        message = f"found false; only zero {SHARDED_WEIGHTS} shards weights, and the file has no such plan"
        yield ("training", "reshard"), message


def place_of(key: str) -> KeyPath:
    """Return where the option of a plan stands in a workload."""
    return ("training", key) if key in TrainingSpec.model_fields else ("parallelism", key)


def layer_key_mistakes(spec: WorkloadSpec, what: str = "a training step") -> Iterator[tuple[KeyPath, str]]:
    """Yield the keys of a workload that a training step, or serving, has no use for."""
    if spec.trace is not None:
        yield ("trace",), f"a trace has its own times; {what} has one of model, file and generator in its place"
    for key in _LAYER_KEYS:
        if getattr(spec, key) is not None:
            yield (key,), f"{what} computes its times from the problem's `npu`; leave this key out"
    if spec.tp_domain is not None:
        yield ("tp_domain",), "this key belongs to tables of layers; that of a training step is `training.tp_domain`"


def overlap_mistakes(training: TrainingSpec, setups: Sequence[Setup]) -> Iterator[tuple[KeyPath, str]]:
    """Yield an overlap that the software lacks."""
    stack = setups[0].stack
    if True in values_of(training.overlap.tp) and stack.hides_tensor == 0.0:
        message = (
            f"found true; {stack.name} has no kernels that overlap tensor parallelism; leave this key out, or name "
        )
        yield ("training", "overlap", "tp"), f"{message}another `stack`"
    if True in values_of(training.overlap.ep) and setups[0].decoder.expert_count == 1:
        yield ("training", "overlap", "ep"), f"found true; {setups[0].decoder.name} has no experts; leave this key out"
    elif True in values_of(training.overlap.ep) and not stack.hides_experts:
        message = (
            f"found true; {stack.name} has no all-to-alls of experts alongside compute; leave this key out, or name "
        )
        yield ("training", "overlap", "ep"), f"{message}another `stack`"
    for schedule in values_of(training.schedule):
        if 0 < stack.year < (since := SINCE[schedule]):
            message = f"found {schedule}; {stack.name} is older than this schedule, of {since} and later"
            yield ("training", "schedule"), f"{message}; 1f1b is left, or another `stack`"


SINCE = {"1f1b": 2021, "zb-h1": 2024, "zb-h2": 2024, "dualpipe": 2025}
"""Year of the first software of a schedule: Megatron-LM's 1F1B, Zero Bubble's own (ICLR 2024), and DeepSeek's code."""


def experts_mistakes(setup: Setup, plan: Plans) -> Iterator[tuple[KeyPath, str]]:
    """Yield why the all-to-alls of experts of the only plan of a file cannot overlap."""
    if plan.overlap_ep[0] and setup.decoder.expert_count > 1 and not overlaps_experts(plan)[0]:
        needed = "ep of 2 or more, no full recomputation, and pp 1, virtual stages or dualpipe"
        yield ("training", "overlap", "ep"), f"found true; all-to-alls of experts run alongside compute with {needed}"


def layer_mistakes(model: Decoder, training: TrainingSpec) -> Iterator[tuple[KeyPath, str]]:
    """Yield layers in bf16 that the model has not, or that no precision asks for."""
    start, end = training.bf16_layers or (0, 0)
    key = "training", "bf16_layers"
    if start + end > model.layers:
        yield key, f"found {start} and {end}; {model.name} has {model.layers} layers"
    if training.bf16_layers is not None and values_of(training.precision) == ("bf16",):
        yield key, "all layers are in bf16; leave this key out, or name another precision"
