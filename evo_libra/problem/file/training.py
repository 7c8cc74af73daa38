"""From the training steps of a problem file to workloads."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evo_libra.errors import InputError, Mistake, unknown
from evo_libra.files.mistakes import KeyPath
from evo_libra.network.catalog.accelerator import Accelerator
from evo_libra.network.catalog.accelerators import load_accelerators
from evo_libra.network.catalog.hosts import HostSpec
from evo_libra.problem.figures import TrainingFigures
from evo_libra.problem.file.accelerators import AcceleratorLoader
from evo_libra.problem.file.mistakes import Gather, ProblemFile
from evo_libra.problem.file.offload import (
    expansions_of_file,
    hosted,
    named_hosts,
    offload_mistakes,
    offload_of,
    offloads_layers,
    software_of,
)
from evo_libra.problem.file.plans import (
    PlanChoices,
    batches_of,
    choices_of,
    experts_mistakes,
    layer_key_mistakes,
    layer_mistakes,
    memory_mistakes,
    nearest,
    overlap_mistakes,
    place_of,
    recommender_mistakes,
    table_of,
    values_of,
    why_none,
    with_precision,
)
from evo_libra.problem.file.precisions import head_mistakes, kernel_mistakes
from evo_libra.problem.file.spec import WorkloadSpec
from evo_libra.problem.file.time import time_spec
from evo_libra.problem.file.training_spec import DecoderGeneratorSpec, RecommenderGeneratorSpec, TrainingSpec
from evo_libra.problem.time_models.loops import WeightedLoop
from evo_libra.workload.layers.generators import load_models
from evo_libra.workload.models.decoder import Decoder, decoder_of, load_decoders
from evo_libra.workload.models.generic import generic_model
from evo_libra.workload.models.hugging_face import Configuration, read_configuration
from evo_libra.workload.models.recommender import Recommender, load_recommenders, recommender_of, trainable_recommenders
from evo_libra.workload.models.stacks import stack_of
from evo_libra.workload.parallelism import complete_degrees
from evo_libra.workload.plans.plan_rules import plan_mistakes
from evo_libra.workload.training.recommender_step import RecommenderSetup
from evo_libra.workload.training.training_setup import Setup, products_in
from evo_libra.workload.training.training_step import TrainingStep, recommender_training_step, training_step
from evo_libra.workload.training.training_table import TrainingTable

if TYPE_CHECKING:
    from evo_libra.problem.file.orders import OrderLoader

_BYTES = {"bf16": 2, "fp32": 4}


class TrainingLoader:
    """Reads the training steps of a problem file.

    Of a file that asks for a design, `domains` are the most NPUs of a scale-up domain around each accelerator.
    """

    def __init__(self, file: ProblemFile, accelerators: AcceleratorLoader) -> None:
        self.file, self.source, self.folder, self.spec, self.fail = file, file.source, file.folder, file.spec, file.fail
        self.accelerators = accelerators
        self._configurations: dict[str, Configuration] = {}
        self.domains: Mapping[str, int | None] = {}

    def _configuration(self, file: str) -> Configuration:
        """Return a file of Hugging Face, which is read once."""
        if file not in self._configurations:
            self._configurations[file] = read_configuration(self.folder / file)
        return self._configurations[file]

    def notes(self) -> tuple[str, ...]:
        """Return a sentence for what files of models say and is not computed, with the size of its effect."""
        found: list[str] = []
        for spec in self.spec.workloads:
            if spec.file is None or (spec.training is None and spec.serving is None):
                continue
            found += self._configuration(spec.file).omissions()
        return tuple(dict.fromkeys(found))

    def identity(self) -> dict[str, Any]:
        """Return the figures of the models and hosts that training steps and serving name."""
        whole = [spec for spec in self.spec.workloads if spec.training is not None or spec.serving is not None]
        known = trained_models()
        named = [spec.model for spec in whole if spec.model in known]
        models = {name: known[name].figures() for name in named if name is not None}
        generic = [generic_model(spec.dense, spec.moe) for spec in whole]
        models |= {model.name: model.figures() for model in generic if model is not None}
        steps = [spec.training for spec in whole if spec.training is not None]
        hosts = dict(named for step in steps for named in named_hosts(step, self.spec.system))
        more = {"trained_models": models, "hosts": hosts}
        return {key: figures for key, figures in more.items() if figures}

    def figures(self, loops: Sequence[WeightedLoop]) -> TrainingFigures | None:
        """Return memory and tokens of workloads, where some of them are training steps or served.

        Of plans that differ in memory or tokens it has none: these are those of designs.
        """
        if not self.accelerators.npus or not any(loop.workload.whole for loop in loops):
            return None
        memory = np.array([max(loop.workload.total_memory for loop in loops)])
        tokens = [loop.tokens for loop in loops]
        counted = all(one is not None for one in tokens)
        whole = [
            loop.weight * float(one[0])
            for loop, one in zip(loops, tokens, strict=True)
            if one is not None and len(one) == 1
        ]
        return TrainingFigures(memory, sum(whole) if counted else None)

    def step(self, path: KeyPath, spec: WorkloadSpec, training: TrainingSpec) -> TrainingStep | TrainingTable:
        """Return a training step, or its plans where the file leaves some open.

        An error has every mistake of it that does not depend on another one.
        """
        found = Gather()
        found.mistakes += [self._mistake(path, key, message) for key, message in layer_key_mistakes(spec)]
        if self.spec.npu is None and self.file.orders is None:
            message = f"a training step needs the key 'npu', one of {', '.join(load_accelerators())}"
            found.mistakes.append(self._mistake(path, ("training",), message))
        npus = found.attempt(lambda: self.accelerators.npus) or ()
        model = None if spec.trace is not None else found.attempt(lambda: self.model(path, spec))
        if npus and isinstance(model, Recommender):
            return self._recommender(path, spec, model, training, found)
        if npus and isinstance(model, Decoder):
            return self._decoder(path, spec, model, training, found)
        found.mistakes += [self._mistake(path, *one) for one in kernel_mistakes(npus, values_of(training.precision))]
        raise InputError(found.mistakes)

    def _decoder(
        self, path: KeyPath, spec: WorkloadSpec, model: Decoder, training: TrainingSpec, found: Gather
    ) -> TrainingStep | TrainingTable:
        name, choices = spec.name or spec.model or model.name, choices_of(spec, training)
        npus = self.accelerators.npus
        lacks = [*kernel_mistakes(npus, choices.precisions), *head_mistakes(npus, training.head_precision)]
        lacks += layer_mistakes(model, training)
        found.mistakes += [self._mistake(path, *one) for one in lacks]
        if training.sequence is None:
            message = "the key 'sequence' is required, the tokens of a sequence"
            found.mistakes.append(self._mistake(path, ("training",), message))
        if not training.overlap.embedding:
            message = "a language model sends nothing of this kind; leave this key out"
            found.mistakes.append(self._mistake(path, ("training", "overlap", "embedding"), message))
        found.mistakes += [self._mistake(path, *one) for one in memory_mistakes(model, choices)]
        lacking = list(offload_mistakes(training, self.spec.system, time_spec(self.spec).model))
        found.mistakes += [self._mistake(path, *one) for one in lacking]
        if lacking:
            raise InputError(found.mistakes)
        setups = [
            replace(one, global_batch=batch)
            for npu, count, _ in self.accelerators.rows
            for one in with_precision(self._setup(model, npu, training), choices.precisions)
            for batch in batches_of(training, count)
        ]
        found.mistakes += [self._mistake(path, *one) for one in overlap_mistakes(training, setups)]
        if choices.open or len(self.accelerators.npus) > 1 or len(setups[0].expansions) > 1:
            found.check()
            return self._table(path, name, choices, tuple(setups), training)
        dp = found.attempt(lambda: self._replicas(path, choices))
        if dp is not None and training.sequence is not None:
            mistakes = plan_mistakes(setups[0], choices.plan(dp))
            lost = experts_mistakes(setups[0], choices.plan(dp))
            found.mistakes += [self._mistake(path, *one) for one in lost]
            found.mistakes += [self._mistake(path, place_of(key), message) for key, message in mistakes]
        found.check()
        return training_step(
            name, setups[0], choices.plan(dp or 1), choices.orders[0],
            training_tokens=training.tokens,
            auto=training.sequence_parallel == "auto",
        )  # fmt: skip

    def _table(
        self, path: KeyPath, name: str, choices: PlanChoices, setups: tuple[Setup, ...], training: TrainingSpec
    ) -> TrainingTable:
        known = {npu.name: row for npu, *row in self.accelerators.rows}
        counts, capacities = zip(*(known[setup.accelerator.name] for setup in setups), strict=True)
        table = table_of(name, choices, setups, npus=counts, training_tokens=training.tokens, capacities=capacities)
        if self.file.orders is not None:
            self._note_lacking(choices, setups, table, self.file.orders)
            return table
        for place, npu in enumerate(self.accelerators.npus):
            mine, who = table.npu == place, f"{npu.name}: " if len(self.accelerators.npus) > 1 else ""
            if not mine.any():
                first = [setup.accelerator.name for setup in setups].index(npu.name)
                reason = why_none(choices, setups[first], counts[first])
                raise self.fail((*path, "parallelism"), f"{who}no plan is possible; with the first values, {reason}")
            if not (table.memory <= table.capacity)[mine].any():
                raise self.fail((*path, "training"), who + nearest(table, place))
        return table

    def _note_lacking(
        self, choices: PlanChoices, setups: Sequence[Setup], table: TrainingTable, orders: OrderLoader
    ) -> None:
        """Note which systems have no possible plan, or none that fits the memory."""
        names = [npu.name for npu in self.accelerators.npus]
        for place, (npu, count, _) in enumerate(self.accelerators.rows):
            first = next(setup for setup in setups if setup.accelerator.name == npu.name)
            mine = np.array([setup.accelerator.name == npu.name for setup in setups])[table.setup]
            if not mine.any():
                orders.lacks_plan(
                    place, f"no plan is possible; with the first values, {why_none(choices, first, count)}"
                )
            elif not (table.memory <= table.capacity)[mine].any():
                orders.lacks_plan(place, nearest(table, table.npus.index(names[place])))

    def _recommender(
        self,
        path: KeyPath,
        spec: WorkloadSpec,
        model: Recommender,
        training: TrainingSpec,
        found: Gather,
    ) -> TrainingStep:
        npu = self.accelerators.npus[0]
        if len(self.accelerators.npus) > 1:
            message = "a recommendation model is trained on one kind of NPU; name it alone in `npu`"
            found.mistakes.append(self._mistake(path, ("training",), message))
        degrees = {str(group): degree for group, degree in dict(spec.parallelism).items()}
        precision, overlap = training.precision, training.overlap
        if self.spec.memory.expansion is not None:
            message = "a recommendation model has its tables on the NPUs; leave `memory.expansion` out"
            found.mistakes.append(self.source.mistake(("memory", "expansion"), message))
        found.mistakes += [self._mistake(path, *one) for one in recommender_mistakes(training, degrees)]
        found.mistakes += [self._mistake(path, *one) for one in kernel_mistakes((npu,), (str(precision),))]
        found.mistakes += [
            self._mistake(path, (), f"the key '{key}' of {model.name} is required, and no source gives it; "
            "a generator of kind recommender can")
            for key in ("rows", "pooling") if getattr(model, key) is None
        ]  # fmt: skip
        if training.stated_batch % self.spec.npus:
            message = f"found {training.stated_batch:,}; it must be a multiple of the {self.spec.npus:,} NPUs"
            found.mistakes.append(self._mistake(path, ("training", "global_batch"), message))
        found.check()
        setup = RecommenderSetup(
            model=model, accelerator=npu, global_batch=training.stated_batch,
            precision=products_in(str(precision)), gradient_bytes=_BYTES[training.gradients],
            overlap_embedding=overlap.embedding, overlap_dp=overlap.dp is True,
        )  # fmt: skip
        return recommender_training_step(spec.name or spec.model or model.name, setup, self.spec.npus)

    def _mistake(self, path: KeyPath, key: KeyPath, message: str) -> Mistake:
        return self.source.mistake((*path, *key), message)

    def model(self, path: KeyPath, spec: WorkloadSpec) -> Decoder | Recommender:
        """Return the whole model of a workload."""
        keys = ("model", "dense", "moe", "file", "generator")
        given = [key for key in keys if getattr(spec, key) is not None]
        if len(given) != 1:
            needed = f"one of {', '.join(keys[:-1])} and {keys[-1]} is needed"
            raise self.fail(path, f"{needed}, found {' and '.join(given) or 'none'}")
        if (generic := self._generic(path, spec)) is not None:
            return generic
        if isinstance(spec.generator, DecoderGeneratorSpec):
            return decoder_of(spec.name or "decoder", spec.generator)
        if isinstance(spec.generator, RecommenderGeneratorSpec):
            return recommender_of(spec.name or "recommender", spec.generator)
        if spec.generator is not None:
            message = f"found kind {spec.generator.kind}; decoder and recommender are trained as a whole"
            raise self.fail((*path, "generator"), message)
        if spec.file is not None:
            return self._configuration(spec.file).model
        known, name = trained_models(), str(spec.model)
        if name in known or name in load_recommenders():
            return known.get(name) or load_recommenders()[name]
        if name in load_models():
            message = f"'{name}' is a table of some layers; models that are trained as a whole: {', '.join(known)}"
            raise self.fail((*path, "model"), message)
        raise self.fail((*path, "model"), unknown("model", name, known))

    def _generic(self, path: KeyPath, spec: WorkloadSpec) -> Decoder | None:
        try:
            return generic_model(spec.dense, spec.moe)
        except InputError as error:
            raise self.fail((*path, "moe"), str(error)) from None

    def _setup(self, model: Decoder, npu: Accelerator, training: TrainingSpec) -> Setup:
        found = _setup(model, npu, training, hosted(self.spec.system))
        expansions = expansions_of_file(self.spec.memory.expansion)
        usable = (1.0 - self.accelerators.reserve) * npu.memory_capacity if expansions else math.inf
        domain = self.domains.get(npu.name) if self.file.orders is None else self.file.orders.domain_of(npu)
        return replace(found, expansions=expansions, usable=usable, domain=domain)

    def _replicas(self, path: KeyPath, choices: PlanChoices) -> int:
        """Return the replicas of a plan that leaves nothing open."""
        groups = {name: choices.degrees[name] for name in ("tp", "cp", "pp")} | {"dp": choices.dp}
        try:
            return complete_degrees({name: one[0] for name, one in groups.items() if one}, self.spec.npus)["dp"]
        except InputError as error:
            raise self.fail((*path, "parallelism"), str(error)) from None


def _setup(model: Decoder, npu: Accelerator, training: TrainingSpec, host: HostSpec | None) -> Setup:
    # Under every time model: a link's latency is a small part of what NCCL takes for a small collective.
    link = max(npu.bus, key=lambda name: npu.bus[name].half_message, default=None)
    return Setup(
        model,
        npu,
        training.sequence or 0,
        training.stated_batch,
        stated_batch=training.stated_batch,
        gradient_bytes=_BYTES[training.gradients],
        fused_attention=training.attention == "fused",
        balanced=training.balanced,
        account_for=training.account_for,
        head_precision=training.head_precision,
        activation_input=training.activation_input,
        bf16_layers=training.bf16_layers,
        expert_processors=training.overlap.ep_processors,
        uneven=training.uneven,
        stack=software_of(stack_of(training.stack, npu.generation), training.optimizer.software),
        tensor_anywhere=training.tp_domain == "any",
        jitter=training.jitter,
        dropout=training.dropout,
        bus=None if link is None else npu.bus[link],
        wire_rate=0.0 if link is None else npu.wire_rate(link),
        offload=offload_of(training.optimizer, host, layers=offloads_layers(training)),
        loss=training.loss,
    )


def trained_models() -> dict[str, Decoder | Recommender]:
    """Return the models by name that are trained as a whole."""
    return {**load_decoders(), **trainable_recommenders()}
