"""Workloads: one training iteration as layers of compute and collectives on process groups."""

from __future__ import annotations

from dataclasses import dataclass, replace

from evo_libra.collective import Collective

PHASES = ("forward", "input_gradient", "weight_gradient")


@dataclass(frozen=True)
class Phase:
    """Seconds of compute, then at most one collective of a group; its bytes are a shard's in an all-gather."""

    compute: float
    collective: Collective | None = None
    size: float = 0.0
    group: str = "all"


@dataclass(frozen=True)
class Layer:
    """One layer: its three phases of training."""

    name: str
    forward: Phase
    input_gradient: Phase
    weight_gradient: Phase

    @property
    def phases(self) -> tuple[Phase, Phase, Phase]:
        """The phases in the order of `PHASES`."""
        return self.forward, self.input_gradient, self.weight_gradient


@dataclass(frozen=True)
class IterationSize:
    """How much one training iteration is, as far as it is known: None where a model has no layers or sequences.

    The batch is sequences, or samples, of each replica of the model, and a microbatch is a part of it; None where the
    whole batch is one. The global batch is given where replicas are still to be chosen.
    """

    layers: int | None = None
    sequence: int | None = None
    batch: int | None = None
    replicas: int | None = None
    micro_batch: int | None = None
    global_batch: int | None = None

    @property
    def figures(self) -> dict[str, int | None]:
        """What programs read of it."""
        total = self.global_batch
        if self.batch is not None and self.replicas is not None:
            total = self.batch * self.replicas
        sizes = {"layers": self.layers, "sequence": self.sequence, "batch_per_replica": self.batch}
        return sizes | {"micro_batch": self.micro_batch or self.batch, "global_batch": total}


@dataclass(frozen=True)
class Workload:
    """One training iteration of a model: its layers in forward order, of which several may be one of the model's."""

    name: str
    layers: tuple[Layer, ...]
    size: IterationSize = IterationSize()

    @property
    def compute(self) -> float:
        """Seconds of compute in one iteration: the time on a network that costs no time."""
        return float(sum(phase.compute for layer in self.layers for phase in layer.phases))

    @property
    def groups(self) -> tuple[str, ...]:
        """Process groups that some collective runs on, in order of appearance."""
        phases = (phase for layer in self.layers for phase in layer.phases)
        return tuple(dict.fromkeys(phase.group for phase in phases if phase.collective))


def scale_compute(workload: Workload, factor: float) -> Workload:
    """Return the workload with all its compute times multiplied by a factor."""

    def scaled(phase: Phase) -> Phase:
        return replace(phase, compute=phase.compute * factor)

    layers = tuple(Layer(layer.name, *map(scaled, layer.phases)) for layer in workload.layers)
    return replace(workload, layers=layers)
