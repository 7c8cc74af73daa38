"""The protocols of formats: what reads a file of another program, and what writes a design for one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from evo_libra.arrays import Population
from evo_libra.errors import InputError, unknown
from evo_libra.exchange.gpu_node import GpuNode
from evo_libra.files.source import Source
from evo_libra.problem.problem import Problem
from evo_libra.workload.plans.plans import SCHEDULES, SHARDED_WEIGHTS, Plans
from evo_libra.workload.training.training_setup import Setup

PARTS = ("generator", "training", "parallelism")
"""Mappings of a `Draft`, by their names in a workload of a problem file."""


@dataclass(frozen=True)
class Draft:
    """Parts of a problem from one file; several files make a problem together.

    Attributes
    ----------
    generator, training, parallelism : keys of these parts of a workload.
    npus, npu : how many NPUs there are, and which accelerator of the catalogue they are; None where it is not said.
    node : a server of GPUs, which is the first dimension of the network.
    accumulation : microbatches that each replica adds up in a step, where no batch is stated.
    shard : NPUs that share out states, where fewer than all replicas do.
    bus : ranks, and bus bandwidth in B/s that their collectives reach with large messages.
    collective, gpu : which collective `bus` is of, and what the program calls the GPUs; empty where it does not say it.
    suggested : part, key and value that hold where no file says another one, and what is then assumed.
    left : keys that were left out, a sentence each.
    assumed : figures that the file leaves to its program, a sentence each.
    """

    generator: Mapping[str, Any] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)
    parallelism: Mapping[str, int] = field(default_factory=dict)
    npus: int | None = None
    npu: str | None = None
    node: GpuNode | None = None
    accumulation: int | None = None
    shard: int | None = None
    bus: tuple[int, float] | None = None
    collective: str = "all_reduce"
    gpu: str = ""
    suggested: tuple[tuple[str, str, Any, str], ...] = ()
    left: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reader:
    """A format of another program.

    Attributes
    ----------
    name : what ``--format`` calls it.
    reads : what it reads, for the reference.
    recognise : whether a source is of this format, by its content. It gets any data and raises nothing.
    read : reads a source; an `InputError` names line and key of every mistake.
    parse : makes a source of text and the name of its file; None for YAML and JSON.
    mark : what a text has that is meant to be of this format, so that a mistake in it is told; None where any may be.
    samples : small texts of this format, for `evo_libra.exchange.conformance`.
    """

    name: str
    reads: str
    recognise: Callable[[Source], bool]
    read: Callable[[Source], Draft]
    samples: tuple[str, ...]
    parse: Callable[[str, str], Source] | None = None
    mark: str | None = None


def without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that are known.

    >>> without_none({"tp": 8, "pp": None})
    {'tp': 8}
    """
    return {key: value for key, value in values.items() if value is not None}


@dataclass(frozen=True)
class Chosen:
    """A design that is written.

    Attributes
    ----------
    problem : the problem that it is a design of.
    population : the design, a population of one.
    workload : the workload whose plan is written; None where the user named none.
    """

    problem: Problem
    population: Population
    workload: str | None = None

    @property
    def notation(self) -> str:
        """The design as people write it."""
        return self.problem.notation.written(self.population)[0]


@dataclass(frozen=True)
class Written:
    """A file.

    Attributes
    ----------
    content : text, or the bytes of a file that is no text.
    left : what the format has no word for, a sentence each.
    """

    content: str | bytes
    left: tuple[str, ...] = ()


@dataclass(frozen=True)
class Writer:
    """A format of another program.

    Attributes
    ----------
    name : what ``--to`` calls it.
    writes : what it writes, for the reference.
    write : writes a design; an `InputError` says in a sentence what the design lacks.
    """

    name: str
    writes: str
    write: Callable[[Chosen], Written]


@dataclass(frozen=True)
class TrainedPlan:
    """The plan of a workload that is trained as a whole.

    Attributes
    ----------
    name : of the workload.
    setup, plan : what is trained how, and a single plan of it.
    order : how the process groups lie on the network, the innermost first.
    npus : of the whole problem.
    """

    name: str
    setup: Setup
    plan: Plans
    order: tuple[str, ...]
    npus: int

    def value(self, option: str) -> int:
        """Return the value of an option of the plan."""
        return int(getattr(self.plan, option)[0])


def unwritten_memory(of: TrainedPlan) -> Iterator[str]:
    """Yield what no file of these formats says here: memory of hosts, weights that stay whole, and other schedules."""
    if of.value("replicate") > 1:
        yield f"{of.value('replicate')} copies of shards: --num-distributed-optimizer-instances of Megatron-LM"
    if of.value("schedule"):
        yield f"the schedule {SCHEDULES[of.value('schedule')]} of the pipeline"
    if of.value("offloaded"):
        yield "activations of layers in the memory of hosts: --cpu-offloading-num-layers of Megatron-LM"
    if of.value("zero") == SHARDED_WEIGHTS and not of.value("reshard"):
        yield "weights that stay whole after the forward pass"


def trained_plan(chosen: Chosen) -> TrainedPlan:
    """Return the plan of the workload that the user named, or of the only one.

    Raises
    ------
    InputError : no workload is a language model in training, the named one is none, or there are several.
    """
    loops = chosen.problem.pinned(chosen.population).time.loops
    planned = {loop.workload.name: (loop, loop.workload.planned) for loop in loops if loop.workload.planned is not None}
    if not planned:
        raise InputError(f"'{chosen.problem.name}' trains no language model, so there is no plan to write")
    name = chosen.workload or next(iter(planned))
    if chosen.workload is None and len(planned) > 1:
        raise InputError(f"several workloads have a plan; name one of {', '.join(planned)} by --workload")
    if name not in planned:
        raise InputError(f"--workload: {unknown('workload', name, planned)}")
    loop, (setup, plan) = planned[name]
    order = tuple(group for group, _ in loop.layouts["dp"])
    return TrainedPlan(name, setup, plan, order, int(chosen.population.npus[:, 0].prod()))
