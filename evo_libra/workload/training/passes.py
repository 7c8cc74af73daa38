"""A pass of a microbatch through the longest stage, alongside all that it hides."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.workload.training.races import StepOverlap, StepSequence, Traffic

_NONE = np.zeros(1)


@dataclass(frozen=True)
class HiddenData:
    """Data parallel traffic of a pass.

    Attributes
    ----------
    sent : what the pass hides; empty where no plan overlaps.
    count : (n,) passes of a step that hide it.
    exposed : what compute waits for, beyond scale-up domains.
    slowed : traffic that would take the time that it loses alongside products, beyond scale-up domains.
    """

    sent: tuple[Traffic, ...] = ()
    count: FloatArray = field(default_factory=lambda: np.zeros(1))
    exposed: tuple[Traffic, ...] = ()
    slowed: tuple[Traffic, ...] = ()


NOTHING_HIDDEN = HiddenData()


@dataclass(frozen=True)
class PassOverlap:
    """A pass of a microbatch.

    Attributes
    ----------
    chains : its compute, and the communication that part of its compute hides.
    streamed : what hosts and servers send meanwhile.
    sent : further traffic that all of its compute hides.
    unused : share of its compute that hides no data parallel traffic.
    """

    name: str
    chains: tuple[StepSequence, ...]
    streamed: tuple[StepSequence, ...]
    sent: tuple[Traffic, ...]
    unused: float

    @property
    def _all_sent(self) -> tuple[Traffic, ...]:
        """Communication of one kind waits for that of another: a slow network is slow for their sum."""
        return (*(sent for chain in self.chains for sent in chain.traffic), *self.sent)

    @property
    def _overlapped(self) -> tuple[StepSequence, ...]:
        common = (*self.chains, *self.streamed)
        return (*common, StepSequence(_NONE, self._all_sent)) if self.sent else common

    def near_experts(self, sent: tuple[Traffic, ...], slower: FloatArray) -> PassOverlap:
        """Return the pass with traffic of experts alongside, whose kernels make it slower by some (n,) seconds."""
        chains = tuple(replace(chain, compute=chain.compute + slower) for chain in self.chains)
        return replace(self, chains=chains, sent=(*self.sent, *sent))

    def overlap(self, count: FloatArray, fill: FloatArray) -> StepOverlap:
        """Return some passes, and some of them while the pipeline fills or drains."""
        return StepOverlap(self._overlapped, count, fill, self.name)

    def hiding(self, data: HiddenData, count: FloatArray) -> list[StepOverlap]:
        """Return some passes that hide data parallel traffic; none where no plan has any."""
        if not data.count.any():
            return []
        unused, every = self.unused * self.chains[0].compute, (*self._all_sent, *data.sent)
        ends = [StepSequence(unused, data.sent), StepSequence(_NONE, every)]
        late = [replace(one, traffic=(*one.traffic, *data.exposed), partial=True) for one in self.chains]
        slow = [StepSequence(_NONE, (*every, *data.slowed), partial=True)] if data.slowed else []
        return [StepOverlap((*self._overlapped, *ends, *slow, *(late if data.exposed else [])), count, name=self.name)]
