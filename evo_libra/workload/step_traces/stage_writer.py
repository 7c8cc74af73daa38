"""Nodes of the NPUs of one pipeline stage in their order, and what they exchange with holders of the same weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evo_libra.chakra.trace import Node
from evo_libra.chakra.write import receive_node, send_node
from evo_libra.collective import Collective
from evo_libra.workload.plans.plans import SHARDED_GRADIENTS, Plans
from evo_libra.workload.step_traces.layer_passes import LayerPass, Sent, number
from evo_libra.workload.trace_nodes import NOTHING, After, GroupPlace, TraceWriter
from evo_libra.workload.training.memory import Parameters, held_parameters
from evo_libra.workload.training.planned_step import shard_or_whole
from evo_libra.workload.training.races import DATA, EXPERT_DATA, PIPELINE, TENSOR
from evo_libra.workload.training.stage_layers import predictor_parts
from evo_libra.workload.training.training_setup import Setup


@dataclass(frozen=True)
class StageData:
    """Weights and gradients of a stage, and when they are exchanged.

    Attributes
    ----------
    weights : what NPUs gather, `gradients` : what they reduce, each for the whole stage.
    gathers_each, gathers_again : as for `Plans`.
    scatters : after how many microbatches gradients are reduced; 0 for the last one alone.
    beside : in a bucket for each layer that runs with the passes, and not all at once.
    embedding : bytes of the gradients that the first and the last stage sum of a tied embedding; 0 in other stages.
    optimizer : seconds.
    """

    weights: tuple[Sent, ...]
    gradients: tuple[Sent, ...]
    gathers_each: bool
    gathers_again: bool
    scatters: int
    beside: bool
    embedding: float
    optimizer: float


def stage_data(setup: Setup, plan: Plans, stage: int, layers: Sequence[int]) -> StageData:
    """Return what a stage of some layers exchanges under the first plan.

    The first stage has the embedding. The last one has the output head, or the copy of the embedding that is its head.
    """
    held, zero, last = _held(setup, plan, stage, layers), int(plan.zero[0]), int(plan.pp[0]) - 1
    tied = setup.decoder.tied and last > 0 and stage in (0, last)
    groups = ((DATA, number(held.dense)), (EXPERT_DATA, number(held.experts)))
    reduced = Collective.REDUCE_SCATTER if zero else Collective.ALL_REDUCE
    return StageData(
        weights=tuple(Sent(group, Collective.ALL_GATHER, 2.0 * held_) for group, held_ in groups if zero and held_),
        gradients=tuple(Sent(group, reduced, setup.gradient_bytes * held_) for group, held_ in groups if held_),
        gathers_each=bool(plan.gathers_each[0]), gathers_again=bool(plan.gathers_again[0]),
        scatters=int(zero >= SHARDED_GRADIENTS) * (last + 1 if plan.vp[0] > 1 else 1),
        beside=bool(plan.overlap_dp[0]) and bool(layers),
        embedding=float(setup.gradient_bytes * setup.decoder.vocabulary * setup.decoder.hidden * tied),
        optimizer=number(setup.kernels.moved(30.0 * (held.sharded if zero else held.all))),
    )  # fmt: skip


def _held(setup: Setup, plan: Plans, stage: int, layers: Sequence[int]) -> Parameters:
    model, last = setup.decoder, int(plan.pp[0]) - 1
    # A model whose head is its embedding has one table where both are in one stage.
    tables = (stage == 0) + (stage == last and (last > 0 or not model.tied))
    own = [layer for layer in layers if layer < model.layers]
    predicting = np.array([float(len(layers) - len(own))])
    parts = [*model.stack.parts(model.stack.counts(own)), *predictor_parts(model, predicting)]
    return held_parameters(setup, plan, parts, np.array([float(tables)]))


@dataclass(frozen=True)
class StageTrace:
    """The trace of the NPUs of a stage, and the ns by which whole nanoseconds make its computations longer.

    Messages name stages, each by its number, in place of NPUs (see `evo_libra.workload.trace_nodes.between`).
    """

    nodes: tuple[Node, ...]
    rounded: float


class StageWriter:
    """Writes the trace of a stage.

    All NPUs of a stage run its collectives in the order in which they are written, each behind the last one, so that
    none waits for another that waits for it. `after` is what the next computation waits for.
    """

    def __init__(self, stage: int, degrees: Mapping[str, int], places: Mapping[str, GroupPlace]) -> None:
        self.stage, self.degrees, self.trace = stage, degrees, TraceWriter(places)
        self.after, self.last_collective = NOTHING, NOTHING

    def finished(self) -> StageTrace:
        """Return what has been written."""
        return StageTrace(tuple(self.trace.nodes), self.trace.rounded)

    def compute(self, name: str, seconds: float) -> None:
        """Compute, and let the next computation wait for it."""
        self.after = self.trace.compute(name, seconds, self.after)

    def wait_for(self, before: After) -> None:
        """Let the next computation wait for some nodes, too."""
        self.after = (*self.after, *(number for number in before if number not in self.after))

    def wait_for_collectives(self) -> None:
        """Let the next computation wait for all collectives so far."""
        self.wait_for(self.last_collective)

    def run(self, name: str, sent: tuple[Sent, ...]) -> None:
        """Run collectives, and let the next computation wait for them."""
        self.after = self.begin(name, sent)

    def begin(self, name: str, sent: tuple[Sent, ...]) -> After:
        """Begin collectives, one after the other, alongside the next computation; return what waits for them."""
        after = self.after
        for one in sent:
            size = round(shard_or_whole(one.collective, one.size, self.degrees[one.group]))
            behind = tuple(number for number in self.last_collective if number not in after)
            done = self.trace.collective(name, one.collective, size, one.group, after, control=behind)
            if done is not after:
                after = self.last_collective = done
        return after

    def layer(self, name: str, run: LayerPass, beside: Callable[[], None]) -> None:
        """Run a pass through a layer; `alongside` begins the work that overlaps all of its compute."""
        self.run(name, run.before)
        beside()
        self.compute(name, run.compute - run.window if run.hidden else run.compute)
        if run.hidden:
            hidden = self.begin(name, run.hidden)
            self.compute(name, run.window)
            self.wait_for(hidden)
        self.run(name, run.after)

    def send(self, name: str, target: int, size: float, tag: int, *, waits: bool) -> None:
        """Send an NPU's part of the bytes of its tensor parallel group, for which the next computation may wait.

        No collective waits for a message: the next one does not begin before it if both can.
        """
        sent = self.trace.add(
            send_node(
                len(self.trace.nodes), f"{name}.send.{PIPELINE}", source=self.stage, destination=target,
                size=self._part(size), tag=tag, data=self.after,
            )
        )  # fmt: skip
        self.after = sent if waits else self.after

    def receive(self, name: str, source: int, size: float, tag: int) -> None:
        """Let the next computation wait for a message."""
        received = receive_node(
            len(self.trace.nodes), f"{name}.receive.{PIPELINE}", source=source, destination=self.stage,
            size=self._part(size), tag=tag,
        )  # fmt: skip
        self.wait_for(self.trace.add(received))

    def _part(self, size: float) -> int:
        return round(size / self.degrees[TENSOR])
