"""Partitions of a trained network: which neuron runs on which worker, so that they send little and answer well.

Neurons of a multi-layer perceptron move between workers, and values that are hardly worth sending are left out, as
RePurpose does (Abdi, Rashidi, Fekri and Krishna, 2008.08289). Label: method of the abstract; tables not available.
Search it with ``evo-libra search repurpose``, or for weights of yours with
``evo-libra search repurpose --set weights=my.npz --set workers=8``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.chakra.trace import Node
from evo_libra.chakra.write import compute_node, receive_node, send_node, write_traces
from evo_libra.errors import InputError
from evo_libra.files.source import Source, StrictModel, validate
from evo_libra.plugins.repurpose.assignment import blocks, contiguous, direct, shuffled
from evo_libra.plugins.repurpose.copies import Owners
from evo_libra.plugins.repurpose.family import Family
from evo_libra.plugins.repurpose.partition import Partition, partition
from evo_libra.plugins.repurpose.perceptron import Perceptron
from evo_libra.plugins.repurpose.weights_file import OTHERS, random_perceptron, read_perceptron
from evo_libra.problem.protocol import Evaluation, Gene, Genome, Objective, Reference, SearchSettings, genome_of


def partition_traces(partition: Partition, *, batch: int = 1, value_bytes: int = 4) -> tuple[tuple[Node, ...], ...]:
    """Return the nodes of each worker for a batch of samples.

    A worker sends each other worker all that it reads of its values in one message per layer. It computes a layer once
    it has the values of the layer before, its own and those of others. Computations carry operations and the bytes of
    their weights, from which a roofline makes a time.

    Raises
    ------
    InputError : a worker has no neurons, so that its trace would be empty.
    """
    return tuple(_nodes(partition, worker, batch, value_bytes) for worker in range(partition.workers))


def write_partition(prefix: Path, partition: Partition, *, batch: int = 1, value_bytes: int = 4) -> list[Path]:
    """Write the traces of `partition_traces` to ``PREFIX.<worker>.et`` and return these paths.

    An `InputError` says that a file cannot be written, or is that of `partition_traces`.
    """
    return write_traces(prefix, partition_traces(partition, batch=batch, value_bytes=value_bytes))


def _nodes(partition: Partition, worker: int, batch: int, value_bytes: int) -> tuple[Node, ...]:
    found: list[Node] = []
    computed: tuple[int, ...] = ()
    for place, copies in enumerate(partition.matrices):
        name, size = f"layer-{place + 1}", copies * (value_bytes * batch)
        for other in np.flatnonzero(size[worker]).tolist():
            found.append(send_node(
                len(found), f"{name}.send", source=worker, destination=other, size=int(size[worker, other]), tag=place,
                data=computed,
            ))  # fmt: skip
        arrived = []
        for other in np.flatnonzero(size[:, worker]).tolist():
            arrived.append(len(found))
            found.append(receive_node(
                len(found), f"{name}.receive", source=other, destination=worker, size=int(size[other, worker]),
                tag=place, data=computed,
            ))  # fmt: skip
        if weights := int(partition.work[place, worker]):
            after = (*computed, *arrived)
            computed = (len(found),)
            operations, size_of_weights = 2 * weights * batch, value_bytes * weights
            found.append(compute_node(len(found), name, operations=operations, size=size_of_weights, data=after))
    if not found:
        raise InputError(f"worker {worker} has nothing to do; give it neurons, or take fewer workers")
    return tuple(found)


TRAFFIC = Objective("traffic", "traffic_B", 1.0, "traffic [B per sample]")
ERROR = Objective("error", "error_percent", 0.01, "reconstruction error [%]")
IMBALANCE = Objective("imbalance", "imbalance_ratio", 1.0, "time over that of even work")
ERROR_RATE = Objective("error-rate", "error_rate_percent", 0.01, "error rate [%]")
OBJECTIVES = {one.name: one for one in (TRAFFIC, ERROR, IMBALANCE, ERROR_RATE)}

LEAST_ERROR = 0.01
"""Values in place of smaller errors, as objectives are above 0; one value stands for no traffic, half a sample for no
wrong one."""

_WEIGHTS = Path(__file__).with_suffix(".npz")
_ERROR, _RUNGS = 0.1, 256
"""Error at which other partitions are shown, and how many prices of copies are tried for them."""
_SOURCE, _YEAR = "partition without RePurpose, computed", 2020

Share = Annotated[float, Field(gt=0, le=1e6)]
Slack = Annotated[float, Field(ge=0, le=1000)]
Size = Annotated[int, Field(ge=1, le=4096)]
ObjectiveName = Literal["traffic", "error", "imbalance", "error-rate"]


class Options(StrictModel):
    """Parameters that ``--set`` changes of the problem."""

    weights: str | Annotated[tuple[Size, ...], Field(min_length=2, max_length=64)] | None = Field(
        None,
        description="path of an .npz, .onnx or .safetensors file; sizes of layers such as [64, 32, 10] draw weights at "
        "random",
    )
    samples: str | None = Field(
        None,
        description="path of an .npz file with inputs, held_out_inputs and held_out_labels, for weights of an .onnx or "
        ".safetensors file",
    )
    workers: Annotated[int, Field(ge=1, le=1024)] | Annotated[tuple[Share, ...], Field(min_length=1)] = Field(
        4, description="number of workers, or the relative speed of each"
    )
    slack_percent: tuple[Slack, ...] = Field(
        (0, 12.5, 25, 50), min_length=1, description="how many more neurons of a layer than its part a worker may have"
    )
    bytes: int = Field(4, ge=1, le=64, description="bytes of a value")
    objectives: tuple[ObjectiveName, ...] | None = Field(
        None, min_length=1, description="what is minimised; all that the weights allow when left out"
    )


@dataclass(frozen=True)
class Repurpose:
    """The problem; see the head of the file."""

    options: Options = field(default_factory=Options)
    folder: Path = field(default_factory=Path)

    name = "repurpose"
    settings = SearchSettings(evaluations=5000, population=100)

    def configured(self, options: Source, folder: Path) -> Repurpose:
        """Return the problem with other options; an `InputError` lists those that are wrong."""
        chosen = validate(Options, options)
        if chosen.objectives and len(set(chosen.objectives)) < len(chosen.objectives):
            raise InputError(options.mistake(("objectives",), f"names one twice: {', '.join(chosen.objectives)}"))
        path = chosen.weights if isinstance(chosen.weights, str) else ""
        if Path(path).suffix in OTHERS and chosen.samples is None:
            reason = f"is needed: {Path(path).name} has weights, and this .npz file has the inputs that errors are over"
            raise InputError(options.mistake(("samples",), reason))
        found = Repurpose(chosen, folder)
        if ERROR_RATE in found.objectives and found.network.held_out is None:
            reason = "error-rate needs held_out_inputs and held_out_labels, which the weights lack"
            raise InputError(options.mistake(("objectives",), reason))
        return found

    @cached_property
    def network(self) -> Perceptron:
        """The trained network."""
        weights = self.options.weights
        if isinstance(weights, tuple):
            return random_perceptron(weights)
        samples = None if self.options.samples is None else self.folder / self.options.samples
        return read_perceptron(_WEIGHTS if weights is None else self.folder / weights, samples)

    @cached_property
    def objectives(self) -> tuple[Objective, ...]:
        """The objectives of the problem."""
        asked = self.options.objectives
        if asked is None:
            return tuple(one for one in OBJECTIVES.values() if one != ERROR_RATE or self.network.held_out is not None)
        return tuple(OBJECTIVES[name] for name in asked)

    @cached_property
    def family(self) -> Family:
        """The partitions to choose from."""
        workers = self.options.workers
        shares = np.ones(workers) if isinstance(workers, int) else np.array(workers, dtype=np.float64)
        slacks = tuple(percent / 100.0 for percent in sorted(set(self.options.slack_percent)))
        return Family(self.network, blocks(self.network.samples.shape[1], shares), shares, slacks)

    @cached_property
    def genome(self) -> Genome:
        """The price of a copy in each layer, its logarithm, and the place of the slack in its list."""
        low, high = np.log10(self.family.prices).tolist()
        prices = [Gene(f"log_price_{n}", low, high, whole=False) for n in range(1, len(self.network.layers) + 1)]
        return genome_of([(0, prices), (1, [Gene("slack", 0, len(self.family.slacks) - 1, ordered=True)])])

    def evaluate_genes(self, genes: FloatArray) -> Evaluation:
        """Return the objectives of (layers + 1, n) genes; partitions that come again are looked up."""
        keys, place = np.unique(self._keys(genes), axis=1, return_inverse=True)
        values = np.array([self._values(tuple(key)) for key in keys.T.tolist()]).T
        return Evaluation(values[:, place.ravel()], np.zeros(genes.shape[1]))

    def describe(self, genes: FloatArray) -> Mapping[str, list[Any]]:
        """Return prices, slack and copies of the designs of (layers + 1, n) genes; no copy is a traffic of 0."""
        prices, slack = 10.0 ** genes[:-1], genes[-1].astype(np.int64)
        copies = self.family.sent(self.family.choose(prices, slack)).sum(axis=0)
        slacks = 100.0 * np.array(self.family.slacks)[slack]
        return {
            "copies": copies.tolist(),
            "slack_percent": slacks.tolist(),
            **{f"price_{n}": row.tolist() for n, row in enumerate(prices, start=1)},
        }

    def identity(self) -> Mapping[str, Any]:
        """Return the options, and a digest of the weights."""
        options = self.options.model_dump(mode="json", exclude={"weights", "samples"})
        return {"problem": self.name, "version": 1, "options": options, "weights": self.network.digest}

    def references(self) -> list[Reference]:
        """Return partitions that anybody would try first: all is sent, or less at an error of 10 %."""
        network, inputs, shares = self.network, self.family.inputs, self.family.shares
        owners = {
            "contiguous": ("blocks of neighbours", contiguous(network, inputs, shares)),
            "random": ("drawn at random", shuffled(network, inputs, shares, seed=0)),
            "direct": ("each neuron where most of its weight is", direct(network, inputs, shares)),
        }
        whole = self._figures(self.baseline(owners["contiguous"][1], 0.0))
        found = [Reference("all sent", "blocks of neighbours, nothing left out", whole, _SOURCE, _YEAR)]
        for name, (text, mine) in owners.items():
            figures = self._figures(self.baseline(mine, _ERROR))
            found.append(Reference(name, f"{text}, at {100 * _ERROR:g} % error", figures, _SOURCE, _YEAR))
        return found

    def baseline(self, owners: Owners, error: float) -> Partition:
        """Return the partition with given owners that sends least, by one price for all layers, within an error."""
        at = [0.0, *np.geomspace(*self.family.prices, _RUNGS).tolist()]
        low, high = 0, len(at) - 1
        while low < high:  # the highest price within the error
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self._at(owners, at[middle]).error <= error else (low, middle - 1)
        return self._at(owners, at[low])

    def partition(self, prices: Sequence[float], slack_percent: float) -> Partition:
        """Return the partition of a design on the front, by its prices and the nearest slack."""
        slack = np.abs(np.array(self.family.slacks) - slack_percent / 100.0).argmin()
        choice = self.family.choose(np.array(prices)[:, None], np.array([slack]))
        return self.family.partition(int(choice.owners[0]), choice.dropped[:, 0].tolist())

    def traces(self, row: Mapping[str, Any], batch: int) -> tuple[tuple[Node, ...], ...]:
        """Return the execution trace of each worker of a design on the front."""
        prices = [row[f"price_{n}"] for n in range(1, len(self.network.layers) + 1)]
        found = self.partition(prices, row["slack_percent"])
        return partition_traces(found, batch=batch, value_bytes=self.options.bytes)

    def _keys(self, genes: FloatArray) -> IntArray:
        """Return the number of the owners, and the copies that each layer drops, of each design."""
        choice = self.family.choose(10.0 ** genes[:-1], genes[-1].astype(np.int64))
        return np.vstack([choice.owners, choice.dropped])

    def _partition(self, key: tuple[int, ...]) -> Partition:
        return self.family.partition(key[0], key[1:])

    @cached_property
    def _known(self) -> dict[tuple[int, ...], list[float]]:
        return {}

    def _values(self, key: tuple[int, ...]) -> list[float]:
        if key not in self._known:
            self._known[key] = self._figures(self._partition(key))
        return self._known[key]

    def _figures(self, found: Partition) -> list[float]:
        held_out = self.network.held_out
        values = {
            TRAFFIC.name: lambda: float(max(found.copies, 1) * self.options.bytes),
            ERROR.name: lambda: max(found.error, LEAST_ERROR),
            IMBALANCE.name: lambda: found.imbalance,
            ERROR_RATE.name: lambda: max(found.error_rate, 0.5 / len(held_out.labels) if held_out else 0.0),
        }
        return [values[objective.name]() for objective in self.objectives]

    def _at(self, owners: Owners, price: float) -> Partition:
        return partition(self.network, owners, self.family.shares, [price] * len(self.network.layers))


problem = Repurpose()
