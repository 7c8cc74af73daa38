"""A whole model under one plan as a workload: its memory, and what it sends in an iteration."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evo_libra.arrays import GIGA
from evo_libra.collective import Collective, SizedCollective
from evo_libra.workload.layers.iteration_time import IterationTime, Merging
from evo_libra.workload.layers.workload import Sent, WorkloadKind
from evo_libra.workload.parallelism import Layout
from evo_libra.workload.training.iteration import shard_or_whole, step_iteration
from evo_libra.workload.training.races import StepTime, Traffic

_WHOLE = 1e-6
"""Distance from a whole number that is rounding."""

_SHOWN = 0.05
"""GB from which on a class of memory is named."""


class PlannedStep(WorkloadKind):
    """A training step, or an answered request.

    Attributes
    ----------
    memory : bytes of an accelerator's own memory by class; `expanded` : those in its expansion memory.
    degrees : NPUs of each process group; `layouts` : how the groups lie, the innermost first.
    parallelism : the degrees that the plan says, and `plan` the whole plan in the notation.
    advise : returns what would fit so many bytes of an accelerator's memory, as a sentence without an end.
    """

    memory: Mapping[str, float]
    expanded: Mapping[str, float]
    degrees: Mapping[str, int]
    layouts: Mapping[str, Layout]
    parallelism: Mapping[str, int]
    plan: str
    advise: Callable[..., str]
    layers = ()
    whole = True
    if TYPE_CHECKING:  # as in `WorkloadKind`

        @property
        def time(self) -> StepTime:
            """The time of an iteration; its arrays are (1,)."""

    @cached_property
    def compute(self) -> float:
        """Seconds of an iteration on a network that costs no time."""
        return float(self.time(lambda _: np.zeros(1))[0])

    @property
    def total_memory(self) -> float:
        """Bytes of an accelerator's own memory."""
        return sum(self.memory.values())

    def memory_mistakes(self, limit: float) -> list[str]:
        """Return what needs more than so many bytes, and what would fit."""
        if self.total_memory <= limit:
            return []
        used = sorted(self.memory.items(), key=lambda item: -item[1])
        classes = ", ".join(f"{kind} {bytes_ / GIGA:.1f}" for kind, bytes_ in used if bytes_ >= _SHOWN * GIGA)
        needed = f"{self.name} ({self.plan}) needs {self.total_memory / GIGA:.1f} GB of an NPU: {classes}"
        return [f"{needed}; {self.advise(capacity=limit)}"]

    def figures(self, degrees: Mapping[str, int]) -> dict[str, Any]:  # noqa: ARG002 - those of the plan are told
        """Return the degrees and the notation of the plan, and how much an iteration is."""
        return {"parallelism": self.parallelism, "plan": self.plan, **self.size.figures}

    def traffic(self) -> Iterator[tuple[Traffic, float]]:
        """Return what is sent, with how many operations of it an NPU runs in an iteration; none in the bubble."""
        return self.time.sent_by(self.degrees)

    def sent(self) -> Mapping[Sent, float]:
        """Count what is sent; a part of a collective, such as an overlapped one, counts as such."""
        found: dict[Sent, float] = {}
        for one, count in self.traffic():
            size, what = float(np.ravel(one.size)[0]), one.operation
            if isinstance(what, Collective):
                size = shard_or_whole(what, size, self.degrees[one.group])
            if size and count:
                sent = Sent(one.part, what, one.group, size)
                found[sent] = found.get(sent, 0.0) + count
        return {sent: round(count) if abs(count - round(count)) < _WHOLE else count for sent, count in found.items()}

    def collectives(self, degrees: Mapping[str, int]) -> list[tuple[Collective, str, int]]:
        """Return the collectives of an iteration, each kind of a group and size once."""
        streams = step_iteration(self.time, degrees, Merging.NONE).streams
        return [(load.collective, group, load.size) for group, load in streams if isinstance(load, SizedCollective)]

    def compiled(self, merging: Merging) -> IterationTime:
        """Return the time of an iteration as coefficients of the times of its streams."""
        return step_iteration(self.time, self.degrees, merging)

    def compiled_parts(self, merging: Merging) -> tuple[IterationTime, IterationTime] | None:  # noqa: ARG002 - serving has some
        """Return the times to the first token and of each further one, where users see them."""
        return None
