"""A training step under one plan as nodes of execution traces, one trace for each stage of the pipeline."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from evo_libra.collective import Collective
from evo_libra.workload.plans.plan_rules import plan_values
from evo_libra.workload.plans.plans import Plans
from evo_libra.workload.step_traces.layer_passes import LayerPasses, Sent, layer_passes, number, parts
from evo_libra.workload.step_traces.pipeline import PipelineStep, ends_of, schedule
from evo_libra.workload.step_traces.stage_writer import StageData, StageTrace, StageWriter, stage_data
from evo_libra.workload.trace_nodes import NOTHING, After, GroupPlace
from evo_libra.workload.training.races import TENSOR
from evo_libra.workload.training.stage_layers import layers_of_stages
from evo_libra.workload.training.step_time import head_time
from evo_libra.workload.training.training_setup import Setup


def stage_traces(
    setup: Setup, plan: Plans, degrees: Mapping[str, int], places: Mapping[str, GroupPlace]
) -> list[StageTrace]:
    """Return one iteration of the first plan as the trace of each stage.

    Stages run 1F1B, interleaved where the plan has virtual stages. A layer computes, and then come its collectives;
    what the plan overlaps runs alongside the computation that hides it.

    Parameters
    ----------
    degrees : NPUs of each process group.
    places : of the process groups that have several NPUs.

    Raises
    ------
    ValueError : the stack hides data parallel traffic alongside a part of its compute only.
    """
    if setup.stack.hides_data < 1.0:
        raise ValueError(f"a part of the compute of {setup.stack.name} hides nothing; which part is not known")
    work, value = _Work.of(setup, plan), plan_values(plan)
    found = []
    for stage, layers in enumerate(layers_of_stages(setup, value["pp"], value["vp"])):
        data = stage_data(setup, plan, stage, [layer for chunk in layers for layer in chunk])
        found.append(_Stage(work, layers, data, StageWriter(stage, degrees, places)).trace())
    return found


@dataclass(frozen=True)
class _Work:
    """Data of all stages.

    Attributes
    ----------
    passes : through layers of each kind.
    order : kind of each layer.
    head : seconds of the output head and the loss.
    message : bytes of the activations of a microbatch, of all NPUs of a tensor parallel group together.
    parts : what gathers a message from its parts.
    waits : whether a stage computes on only when its message has arrived.
    """

    stages: int
    chunks: int
    microbatches: int
    passes: Sequence[LayerPasses]
    order: Sequence[int]
    head: float
    message: float
    parts: tuple[Sent, ...]
    waits: bool

    @classmethod
    def of(cls, setup: Setup, plan: Plans) -> _Work:
        value, model = plan_values(plan), setup.decoder
        whole = 2.0 * plan.tokens(setup.sequence) * model.hidden
        gathered = (Sent(TENSOR, Collective.ALL_GATHER, number(setup.counted(whole, plan.tp))),)
        return cls(
            stages=value["pp"],
            chunks=value["vp"],
            microbatches=round(number(plan.microbatches(setup.global_batch))),
            passes=[layer_passes(setup, plan, layer) for layer in (*model.stack.kinds, model.predictor)],
            order=(*model.stack.order, *[len(model.stack.kinds)] * model.predictors),
            # The last stage has all of it, even where the formula gives each stage a share.
            head=number(head_time(replace(setup, balanced=False, account_for=()), plan)),
            message=number(whole),
            parts=() if plan.sequence_parallel[0] else gathered,
            waits=not plan.overlap_pp[0] or value["vp"] == 1,
        )


@dataclass(frozen=True)
class _Visit:
    """A pass of a microbatch through one of the layers of a virtual stage."""

    step: PipelineStep
    layer: int
    first: bool

    @property
    def name(self) -> str:
        return f"{_name(self.step)}.layer{self.layer}"


class _Stage:
    """The iteration of a stage.

    `queue` are the layers whose weights are still to be gathered once in the step, `ready` those whose weights are
    gathered before their turn, and `due` are the gradients that go alongside the next layer.
    """

    def __init__(self, work: _Work, layers: Sequence[range], data: StageData, writer: StageWriter) -> None:
        self.work, self.layers, self.data, self.writer = work, layers, data, writer
        self.stage, self.last = writer.stage, work.stages - 1
        self.queue, self.ready = deque[_Visit](), dict[int, After]()
        self.due: list[tuple[str, tuple[Sent, ...]]] = []

    def trace(self) -> StageTrace:
        steps = schedule(self.stage, self.work.stages, self.work.chunks, self.work.microbatches)
        visits = deque(visit for step in steps for visit in self.visits(step))
        self.start(visits)
        for step in steps:
            self.begin(step, visits[0] if visits and visits[0].step == step else None)
            while visits and visits[0].step == step:
                self.visit(visits.popleft(), visits[0] if visits else None)
            self.end(step)
        self.finish()
        return self.writer.finished()

    def visits(self, step: PipelineStep) -> list[_Visit]:
        layers = self.layers[step.chunk] if step.forward else self.layers[step.chunk][::-1]
        return [_Visit(step, layer, layer == layers[0]) for layer in layers]

    def start(self, visits: Sequence[_Visit]) -> None:
        """Gather the weights that stay; a stage that waits for its first input gathers meanwhile."""
        if self.data.gathers_each:
            return
        if not self.data.beside:
            self.writer.run("step", self.data.weights)
            return
        self.queue.extend(visit for visit in visits if visit.step.forward and visit.step.microbatch == 0)
        while self.stage and self.queue:
            self.gather(self.queue.popleft())

    def begin(self, step: PipelineStep, first: _Visit | None) -> None:
        """Gather the weights of a pass where nothing hides that, and receive its input, in tensor parallel parts."""
        gathers = self.gathers(step)
        if gathers and not self.data.beside:
            self.writer.run(_name(step), parts(self.data.weights, self.share(step)))
        if self.queue and self.queue[0] == first:
            self.gather(self.queue.popleft())
        if first is not None and gathers and self.data.beside and first.layer not in self.ready:
            self.gather(first)
        ends = ends_of(self.stage, self.work.stages, self.work.chunks, step)
        if ends.source is not None:
            self.writer.receive(_name(step), ends.source, self.work.message, ends.source_tag)
            self.writer.run(f"{_name(step)}.input", self.work.parts)

    def visit(self, visit: _Visit, following: _Visit | None) -> None:
        """Run a layer with the work that is due and the weights of a layer to come alongside it."""
        self.writer.wait_for(self.ready.pop(visit.layer, NOTHING))
        passes = self.work.passes[self.work.order[visit.layer]]
        beside: Callable[[], None] = partial(self.exchange, following)
        for run in passes.forward if visit.step.forward else passes.backward:
            self.writer.layer(f"{visit.name}.{run.name}", run, beside)
            beside = _nothing
        if self.data.beside and not visit.step.forward and self.scatters(visit.step):
            self.due.append((visit.name, self.bucket(self.data.gradients)))

    def exchange(self, following: _Visit | None) -> None:
        """Reduce gradients that are due, and gather weights for later, alongside a layer that waits for neither.

        With each microbatch these are the weights of the layer that follows, but nothing hides the first ones of a
        microbatch. Once in a step it is a bucket alongside each layer, and only the first stage, which ends last,
        reduces before its last pass is done: the next stage would wait with its output for that.
        """
        if not self.data.beside:
            return
        self.reduce(len(self.due) if self.data.scatters else 0 if self.stage else 1)
        if following is not None and self.gathers(following.step) and not self.starts(following):
            self.gather(following)
        if self.queue:
            self.gather(self.queue.popleft())

    def scatters(self, step: PipelineStep) -> bool:
        """Tell whether gradients are reduced after the backward pass of a microbatch."""
        done, each = step.microbatch + 1, self.data.scatters
        return done == self.work.microbatches or bool(each and done % each == 0)

    def gathers(self, step: PipelineStep) -> bool:
        """Tell whether weights are gathered for a pass of a microbatch."""
        return self.data.gathers_each and (step.forward or self.data.gathers_again)

    def starts(self, visit: _Visit) -> bool:
        """Tell whether a microbatch begins its way through the stage, or its way back, with a layer."""
        return visit.first and visit.step.chunk == (0 if visit.step.forward else self.work.chunks - 1)

    def end(self, step: PipelineStep) -> None:
        """Send the output of a pass, and reduce its gradients where nothing hides that."""
        ends = ends_of(self.stage, self.work.stages, self.work.chunks, step)
        if step.forward and self.stage == self.last and step.chunk == self.work.chunks - 1:
            self.writer.compute(f"{_name(step)}.head", self.work.head)
        if ends.target is not None:
            self.writer.send(_name(step), ends.target, self.work.message, ends.target_tag, waits=self.work.waits)
        if self.data.scatters and not step.forward and self.scatters(step):
            if not self.data.beside:
                self.writer.run(_name(step), parts(self.data.gradients, self.share(step)))
            elif step.chunk == 0:
                self.reduce(len(self.due))
                self.writer.wait_for_collectives()

    def finish(self) -> None:
        """Reduce what is left, sum the gradients of a tied embedding with its copy, and update the weights."""
        if not self.data.scatters and not self.data.beside:
            self.writer.run("step", self.data.gradients)
        self.reduce(len(self.due))
        self.writer.wait_for_collectives()
        if self.data.embedding:
            other, tag = self.last - self.stage, 2 * self.work.microbatches * self.work.chunks
            self.writer.send("embedding", other, self.data.embedding, tag, waits=True)
            self.writer.receive("embedding", other, self.data.embedding, tag)
        self.writer.compute("optimizer", self.data.optimizer)

    def gather(self, visit: _Visit) -> None:
        """Gather the weights of a layer alongside the next computation."""
        self.ready[visit.layer] = self.writer.begin(visit.name, self.bucket(self.data.weights))

    def reduce(self, count: int) -> None:
        """Reduce some of the gradients that are due alongside the next computation."""
        for name, sent in self.due[:count]:
            self.writer.begin(name, sent)
        self.due = self.due[count:]

    def share(self, step: PipelineStep) -> float:
        """Return the part of the stage's weights that a virtual stage has."""
        total = sum(map(len, self.layers))
        return len(self.layers[step.chunk]) / total if total else 1.0 / self.work.chunks

    def bucket(self, sent: tuple[Sent, ...]) -> tuple[Sent, ...]:
        """Return the part of some collectives that one layer stands for."""
        return parts(sent, 1.0 / sum(map(len, self.layers)))


def _name(step: PipelineStep) -> str:
    return f"microbatch{step.microbatch}"


def _nothing() -> None:
    """Begin nothing."""
