"""What came of executing a program."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray
from evo_libra.timing.traces.operations import Resource
from evo_libra.timing.traces.program import TraceProgram


@dataclass(frozen=True)
class Span:
    """When a class of NPUs did a node of the trace of the NPU that stands for it, in ns.

    A collective starts when the NPU comes to it, not when the last one does.
    """

    npu_class: int
    node: int
    name: str
    start: float
    end: float


@dataclass(frozen=True)
class Execution:
    """When everything happened, in (o,) ns of each operation.

    Late are operations, collectives, whose members began apart and are taken to end together: of those the end is right
    for the last member and too late for the others. There are none where all times are exact.
    """

    program: TraceProgram
    starts: FloatArray
    ends: FloatArray
    late: tuple[int, ...] = ()

    @property
    def finish(self) -> FloatArray:
        """(N,) ns at which each NPU has done everything."""
        return self._of_npus(self._finish)

    @property
    def compute(self) -> FloatArray:
        """(N,) ns that each NPU computes."""
        return self._of_npus(self._busy(self._takes(Resource.COMPUTE)))

    @property
    def exposed(self) -> FloatArray:
        """(N,) ns at which an NPU does not compute: its exposed communication, in ASTRA-sim's words."""
        return self.finish - self.compute

    @property
    def communication(self) -> FloatArray:
        """(N,) ns that each NPU communicates or waits for others to do so; remote memory counts, receives do not."""
        return self._of_npus(self._busy(self._takes(Resource.COMMUNICATION)))

    @property
    def cpu(self) -> FloatArray:
        """(N,) ns that each NPU's CPU works."""
        return self._of_npus(self._busy(self._takes(Resource.CPU)))

    @property
    def idle(self) -> FloatArray:
        """(N,) ns at which each NPU neither computes nor communicates."""
        either = self._takes(Resource.COMPUTE) | self._takes(Resource.COMMUNICATION)
        return self._of_npus(self._finish - self._covered(either))

    def timeline(self) -> list[Span]:
        """Return what each class of NPUs did, class after class, by start."""
        program = self.program
        order = np.lexsort((np.arange(len(program)), self.starts, program.owner))
        return [
            Span(int(program.owner[o]), program.nodes[o], program.names[o], float(self.starts[o]), float(self.ends[o]))
            for o in order.tolist()
        ]

    @cached_property
    def _finish(self) -> FloatArray:
        finish = np.zeros(len(self.program.classes))
        np.maximum.at(finish, self.program.owner, self.ends)
        return finish

    def _of_npus(self, of_classes: FloatArray) -> FloatArray:
        return np.asarray(of_classes[self.program.npus])

    def _takes(self, resource: Resource) -> BoolArray:
        return np.array([o.resource is resource for o in self.program.operations], dtype=np.bool_)

    def _busy(self, which: BoolArray) -> FloatArray:
        weights = (self.ends - self.starts)[which]
        busy = np.zeros(len(self.program.classes))
        np.add.at(busy, self.program.owner[which], weights)
        return busy

    def _covered(self, which: BoolArray) -> FloatArray:
        """Return the ns of each class in which at least one of some operations runs."""
        found = np.zeros(len(self.program.classes))
        order = np.flatnonzero(which)[np.lexsort((self.starts[which], self.program.owner[which]))]
        owner, starts, ends = self.program.owner[order], self.starts[order], self.ends[order]
        reached = dict[int, float]()
        for npu_class, start, end in zip(owner.tolist(), starts.tolist(), ends.tolist(), strict=True):
            before = max(reached.get(npu_class, 0.0), start)
            found[npu_class] += max(end - before, 0.0)
            reached[npu_class] = max(end, before)
        return found
