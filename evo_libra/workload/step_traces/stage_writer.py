"""What the NPUs of one stage of a pipeline do, as nodes in their order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from evo_libra.chakra.trace import Node
from evo_libra.chakra.write import receive_node, send_node
from evo_libra.workload.step_traces.layer_passes import LayerPass, Sent
from evo_libra.workload.trace_nodes import NOTHING, After, GroupPlace, TraceWriter
from evo_libra.workload.training.iteration import shard_or_whole
from evo_libra.workload.training.races import PIPELINE, TENSOR


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
        """Begin collectives, one after the other, beside the next computation; return what waits for them."""
        after = self.after
        for one in sent:
            size = round(shard_or_whole(one.collective, one.size, self.degrees[one.group]))
            behind = tuple(number for number in self.last_collective if number not in after)
            done = self.trace.collective(name, one.collective, size, one.group, after, control=behind)
            if done is not after:
                after = self.last_collective = done
        return after

    def layer(self, name: str, run: LayerPass, beside: Callable[[], None]) -> None:
        """Run a pass through a layer; `beside` begins what runs beside all of its compute."""
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
