"""What goes over a tensor parallel group before the layers of a pass and after its head."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.collective import Collective
from evo_libra.workload.models.kernels import Array
from evo_libra.workload.training.races import TENSOR, Traffic

_ID, _LOGIT, _ELEMENT = 4.0, 4.0, 2.0
"""Bytes of a token's id, of the logit of a token, and of an element of an embedding."""


@dataclass(frozen=True)
class EmbeddingAndHeadTraffic:
    """How tokens reach the NPUs of a tensor parallel group, and how the next ones are chosen from all of them.

    Attributes
    ----------
    broadcast : ``ids`` of tokens, or their ``embeddings``, from one NPU to all; None where no bytes are counted.
    sampling : ``top-k`` where each NPU sends its largest logits with their tokens, ``logits`` where it sends all that
        it has; None where no bytes are counted.
    top_k : logits of a sequence that an NPU sends with ``top-k``; never more than it has.
    """

    broadcast: str | None = None
    sampling: str | None = None
    top_k: int = 1

    @property
    def collectives(self) -> int:
        """How many run in a pass."""
        return (self.broadcast is not None) + (self.sampling is not None)

    def traffic(
        self, tokens: Array, sequences: Array, times: Array, *, hidden: int, vocabulary: int, npus: Array
    ) -> list[Traffic]:
        """Return what is sent for (n,) tokens of some sequences, as many times, among (n,) NPUs.

        A broadcast is a scatter and an all-gather, which are the bytes of an all-reduce. A choice among all logits is
        an all-gather of what the NPUs have to say.
        """
        found, times = list[Traffic](), np.asarray(times, dtype=np.float64)
        if self.broadcast is not None:
            bytes_ = _ID if self.broadcast == "ids" else _ELEMENT * hidden
            found.append(Traffic("embedding", TENSOR, Collective.ALL_REDUCE, np.atleast_1d(bytes_ * tokens), times))
        if self.sampling is not None:
            said = np.atleast_1d(sequences * self._said(vocabulary, npus))
            found.append(Traffic("sampling", TENSOR, Collective.ALL_GATHER, said, times))
        return found

    def _said(self, vocabulary: int, npus: Array) -> FloatArray:
        """Return the (n,) bytes of all NPUs for one sequence."""
        share = vocabulary / np.asarray(npus, dtype=np.float64)
        if self.sampling == "logits":
            return np.full_like(share, _LOGIT * vocabulary)
        return np.asarray((_LOGIT + _ID) * npus * np.minimum(self.top_k, share))


UNCOUNTED = EmbeddingAndHeadTraffic()
"""Where neither is counted: the constants of software include what they cost."""
