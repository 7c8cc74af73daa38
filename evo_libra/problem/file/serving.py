"""From the serving of a problem file to tables of plans."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from evo_libra.arrays import GIGA
from evo_libra.errors import InputError
from evo_libra.files.mistakes import KeyPath
from evo_libra.network.catalog.accelerator import Accelerator
from evo_libra.network.catalog.accelerators import load_accelerators
from evo_libra.problem.file.accelerators import AcceleratorLoader
from evo_libra.problem.file.mistakes import Gather, ProblemFile
from evo_libra.problem.file.offload import expansions_of_file
from evo_libra.problem.file.plans import layer_key_mistakes, values_of
from evo_libra.problem.file.serving_spec import ServingSpec
from evo_libra.problem.file.spec import WorkloadSpec
from evo_libra.problem.file.training import TrainingLoader
from evo_libra.workload.models.decoder import Decoder
from evo_libra.workload.plans.placement import ORDER
from evo_libra.workload.serving.experts import ServedExperts
from evo_libra.workload.serving.lengths import NAMED, Lengths, exponential_lengths, fixed_lengths, read_lengths
from evo_libra.workload.serving.serving_plans import DEGREES
from evo_libra.workload.serving.serving_rules import ServingSpace, serving_mistakes
from evo_libra.workload.serving.serving_setup import EmbeddingAndHeadTraffic, ServingSetup, products_of
from evo_libra.workload.serving.serving_step import serving_advice
from evo_libra.workload.serving.serving_table import ServingTable, serving_table
from evo_libra.workload.serving.stacks import SERVING_STACKS, ServingStack
from evo_libra.workload.training.expansion import NO_EXPANSION

_MICRO = 1e-6
_TOP_K = 50
"""Largest logits of a sequence that an NPU sends when the file does not say how many."""

_GROUPS = ("tp", "pp", "ep", "dp")


class ServingLoader:
    """Reads the serving of a problem file; models and accelerators are those of training."""

    def __init__(self, file: ProblemFile, training: TrainingLoader) -> None:
        self.source, self.folder, self.spec, self.fail = file.source, file.folder, file.spec, file.fail
        self.training = training

    def table(self, path: KeyPath, spec: WorkloadSpec, serving: ServingSpec) -> ServingTable:
        """Return the plans of a workload; an error has every mistake of it that does not depend on another one."""
        found = Gather()
        found.mistakes += [self.source.mistake((*path, *key), text) for key, text in _key_mistakes(spec, serving)]
        if self.spec.npu is None and self.training.file.orders is None:
            message = f"serving needs the key 'npu', one of {', '.join(load_accelerators())}"
            found.mistakes.append(self.source.mistake((*path, "serving"), message))
        npus = found.attempt(lambda: self.training.accelerators.npus) or ()
        model = None if spec.trace is not None else found.attempt(lambda: self.training.model(path, spec))
        found.mistakes += [
            self.source.mistake((*path, *key), text)
            for npu in {npu.product: npu for npu in npus}.values()
            for key, text in kernel_mistakes(npu, serving)
        ]
        if isinstance(model, Decoder) and model.expert_count == 1:
            found.mistakes += [
                self.source.mistake((*path, "serving", key), f"{model.name} has no experts; leave this key out")
                for key in ("expert_weights", "imbalance", "redundant_experts")
                if key in serving.model_fields_set
            ]
        if model is not None and not isinstance(model, Decoder):
            message = f"found {model.name}; serving is of language models"
            found.mistakes.append(self.source.mistake((*path, "model"), message))
        found.check()
        assert isinstance(model, Decoder), "else there were mistakes"  # noqa: S101 - internal error
        return self._table(path, spec, serving, model)

    def _table(self, path: KeyPath, spec: WorkloadSpec, serving: ServingSpec, model: Decoder) -> ServingTable:
        accelerators, space = self.training.accelerators, _space(spec, serving, self.spec.npus)
        lengths = self._lengths(path, serving)
        prompt, answer = round(lengths.prompt), lengths.answer
        stack, served = _stack(serving), _experts(serving)
        expansions = expansions_of_file(self.spec.memory.expansion) or (NO_EXPANSION,)
        varied, ends = None if len(lengths.prompts) == 1 else lengths, _ends(serving)
        setups, capacities = zip(*(
            (
                ServingSetup(
                    decoder=model, accelerator=npu, prompt=prompt, answer=answer, weights=weights, cache=cache,
                    stack=stack, lengths=varied, ends=ends, attention=serving.attention, expansion=expansion,
                    usable=capacity, expert_weights=serving.expert_weights, experts=served,
                    budget=serving.prompt_tokens,
                ),
                capacity,
            )
            for npu, _, capacity in accelerators.rows
            for weights, cache, expansion in product(_weights(npu, serving), values_of(serving.kv_cache), expansions)
        ), strict=True)  # fmt: skip
        known = {npu.name: count for npu, count, _ in accelerators.rows}
        counts = tuple(known[setup.accelerator.name] for setup in setups)
        table = serving_table(
            spec.name or spec.model or model.name, setups, space, (ORDER,), capacities=capacities, counts=counts
        )
        if (orders := accelerators.file.orders) is not None:
            for place, why in _lacking(table, accelerators):
                orders.lacks_plan(place, why)
            return table
        if not len(table):
            reasons = "; ".join(f"{key}: {text}" for key, text in serving_mistakes(model, self.spec.npus, space))
            where = f"; with the first values, {reasons}" if reasons else ""
            raise self.fail((*path, "parallelism"), f"no plan is possible{where}")
        for place, npu in enumerate(accelerators.npus):
            mine = table.npu == place
            if not (table.memory <= table.capacity)[mine].any():
                who = f"{npu.name}: " if len(accelerators.npus) > 1 else ""
                raise self.fail((*path, "serving"), who + _smallest(table, np.flatnonzero(mine)))
        return table

    def _lengths(self, path: KeyPath, serving: ServingSpec) -> Lengths:
        """Return the lengths of requests; an `InputError` says that the file gives none, or gives them twice."""
        given = [key for key in ("input", "output") if getattr(serving, key) is not None]
        if serving.requests not in NAMED:
            if given:
                raise self.fail(
                    (*path, "serving", given[0]), "the file of `requests` has the lengths; leave this key out"
                )
            if not serving.requests.endswith(".csv"):
                allowed = f"{', '.join(NAMED)}, or a .csv file"
                raise self.fail((*path, "serving", "requests"), f"found {serving.requests}; allowed: {allowed}")
            try:
                return read_lengths(self.folder / serving.requests)
            except InputError as error:
                raise self.fail((*path, "serving", "requests"), str(error)) from None
        if serving.input is None or serving.output is None:
            missing = "input" if serving.input is None else "output"
            raise self.fail(
                (*path, "serving"), f"the key '{missing}' is required, tokens of a request or of its answer"
            )
        lengths = fixed_lengths if serving.requests == "fixed" else exponential_lengths
        return lengths(serving.input, serving.output)


def kernel_mistakes(npu: Accelerator, serving: ServingSpec) -> Iterator[tuple[KeyPath, str]]:
    """Yield what the accelerator does not have for serving."""
    if not _weights(npu, serving):
        given, known = ", ".join(values_of(serving.weights)), ", ".join(npu.gemm) or "none"
        rule = "products of fp8, mxfp8 and mxfp4 weights run in the same, those of nvfp4 in fp4, all others in bf16"
        yield ("serving", "weights"), f"found {given}; {npu.product} has kernel constants for {known}; {rule}"
    if npu.attention is None:
        yield ("serving",), f"{npu.product} has no peak rate in bf16, which attention needs; give it in `peak_TFLOPS`"


def _weights(npu: Accelerator, serving: ServingSpec) -> list[str]:
    """Return those precisions of weights that an accelerator has kernel constants for."""
    return [one for one in values_of(serving.weights) if products_of(one) in npu.gemm]


def _experts(serving: ServingSpec) -> ServedExperts:
    return ServedExperts(
        serving.imbalance, serving.redundant_experts, balanced=serving.dispatch == "balanced",
        two_batches=serving.overlap_batches,
    )  # fmt: skip


def _key_mistakes(spec: WorkloadSpec, serving: ServingSpec) -> Iterator[tuple[KeyPath, str]]:
    if spec.training is not None:
        yield ("serving",), "a workload is a training step or served; the key 'training' is there, too"
    if serving.top_k is not None and serving.sampling != "top-k":
        yield ("serving", "top_k"), f"found {serving.top_k}; it is of 'sampling: top-k' alone"
    if serving.server is not None and serving.collective_us is None and SERVING_STACKS[serving.stack].hop is None:
        message = "collectives take what was measured on their links; `collective_us` gives them a time of their own"
        yield ("serving", "server"), message
    if serving.server is not None and serving.server.npus & (serving.server.npus - 1):
        yield ("serving", "server", "npus"), f"found {serving.server.npus}; a power of 2 is needed"
    if serving.prefill_parallelism is not None and not any(values_of(serving.prefill)):
        message = "no NPUs have prompts alone; `prefill` says which part of them does"
        yield ("serving", "prefill_parallelism"), message
    yield from layer_key_mistakes(spec, "serving")
    for group in dict(spec.parallelism):
        if group not in _GROUPS:
            yield ("parallelism", group), f"serving has no {group}; allowed: {', '.join(_GROUPS)}"


def _space(spec: WorkloadSpec, serving: ServingSpec, npus: int) -> ServingSpace:
    given: dict[str, Any] = {str(name): degree for name, degree in dict(spec.parallelism).items()}
    degrees = {name: values_of(given.get(name, 1)) for name in DEGREES}
    replicas = values_of(given["dp"]) if "dp" in given else None
    ahead = {} if serving.prefill_parallelism is None else dict(serving.prefill_parallelism)
    return ServingSpace(
        npus, **degrees, dp=replicas, concurrency=values_of(serving.concurrency), prefill=values_of(serving.prefill),
        ahead={name: values_of(given) for name, given in ahead.items() if given is not None},
        redundant=serving.redundant_experts,
    )  # fmt: skip


def _ends(serving: ServingSpec) -> EmbeddingAndHeadTraffic:
    return EmbeddingAndHeadTraffic(
        serving.broadcast, serving.sampling, _TOP_K if serving.top_k is None else serving.top_k
    )


def _stack(serving: ServingSpec) -> ServingStack:
    """Return the software with the times that the file gives."""
    stack, server = SERVING_STACKS[serving.stack], serving.server
    if serving.collective_us is not None:
        stack = replace(stack, hop=serving.collective_us * _MICRO)
    return stack if server is None else replace(stack, server=server.npus, server_hop=server.collective_us * _MICRO)


def _lacking(table: ServingTable, accelerators: AcceleratorLoader) -> Iterator[tuple[int, str]]:
    """Yield the accelerators, by their places, that no plan is for or fits, and why."""
    names = [npu.name for npu in accelerators.npus]
    for place, name in enumerate(names):
        mine = np.array([setup.accelerator.name == name for setup in table.setups])[table.setup]
        if not mine.any():
            yield place, "no plan is possible"
        elif not (table.memory <= table.capacity)[mine].any():
            yield place, _smallest(table, np.flatnonzero(mine))


def _smallest(table: ServingTable, mine: np.ndarray) -> str:
    """Return the plan that needs the least memory, and what would need less, as a sentence."""
    best = int(mine[table.memory[mine].argmin()])
    classes = ", ".join(f"{kind} {bytes_ / GIGA:.1f}" for kind, bytes_ in table.memory_of(best).items())
    capacity = float(table.capacity[best])
    return (
        f"none of the {len(mine):,} plans fits {capacity / GIGA:.4g} GB; the smallest, {table.text(best)}, needs "
        f"{table.memory[best] / GIGA:.1f} GB ({classes}): {serving_advice(capacity=capacity)}"
    )
