"""Layers at the ends of a model: the embedding of tokens and the output head."""

from __future__ import annotations

from dataclasses import dataclass

from evo_libra.workload.models.kernels import Array
from evo_libra.workload.models.layers.kept import Kept
from evo_libra.workload.models.layers.sublayer import Matrix, Number, Share, Size, Sublayer


@dataclass(frozen=True)
class Embedding(Sublayer):
    """A table with a row for each token of the vocabulary, and maybe one for each position.

    Attributes
    ----------
    vocabulary : its rows.
    positions : of positions that are learned; 0 for none.
    """

    vocabulary: Size
    positions: Number = 0

    def matrices(self, share: Share) -> tuple[Matrix, ...]:
        """Return the table; a token reads one of its rows in place of a product."""
        return (Matrix(n=self.vocabulary / share.tp, k=self.hidden, rows=0.0),)

    @property
    def vectors(self) -> int:
        """Rows of positions."""
        return self.positions * self.hidden


@dataclass(frozen=True)
class Head(Sublayer):
    """The product that gives each token of the vocabulary a logit, and the loss.

    Attributes
    ----------
    vocabulary : its outputs.
    """

    vocabulary: Size

    def matrices(self, share: Share) -> tuple[Matrix, ...]:
        """Return the product with the vocabulary."""
        return (Matrix(n=self.vocabulary / share.tp, k=self.hidden),)

    def moved(self, share: Share) -> tuple[Array, Array]:
        """Return the bytes of the loss for each token, 20 of a logit.

        Forwards a logit of 4 bytes is written and read for the maximum and for the sum of exponentials; backwards it is
        read, and its gradient of 4 bytes is written.
        """
        words = self.logits(share)
        return 12.0 * words, 8.0 * words

    def logits(self, share: Share) -> Array:
        """Return (n,) logits of an NPU for each token."""
        return self.vocabulary / share.tp


@dataclass(frozen=True)
class Predictor(Sublayer):
    """Input of a layer of multi-token prediction: a projection of a token and the state before (DeepSeek-V3).

    Its widths go from two to one of the model's; embedding and head are those of the model.
    """

    def matrices(self, share: Share) -> tuple[Matrix, ...]:
        """Return the projection, whose parts a tensor parallel group sums."""
        return (Matrix(n=self.hidden, k=2 * self.hidden / share.tp),)

    @property
    def vectors(self) -> int:
        """Norm of the second input, and the one before the head; that of the first is before every sublayer."""
        return 2 * self.hidden

    def tensors(self, share: Share) -> tuple[Kept, ...]:
        """Return the second input, split as the first one."""
        return (Kept(self.hidden / share.tp),)
