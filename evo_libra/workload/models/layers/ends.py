"""Layers at the ends of a model: the embedding of tokens and the output head."""

from __future__ import annotations

from dataclasses import dataclass

from evo_libra.workload.models.kernels import Array
from evo_libra.workload.models.layers.sublayer import Matrix, Share, Sublayer


@dataclass(frozen=True)
class Embedding(Sublayer):
    """A table with a row for each token of the vocabulary, and maybe one for each position.

    Attributes
    ----------
    vocabulary : its rows.
    positions : of positions that are learned; 0 for none.
    """

    vocabulary: int
    positions: int = 0

    def matrices(self, share: Share) -> tuple[Matrix, ...]:
        """Return the table, of which a token reads a row in place of a product."""
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

    vocabulary: int

    def matrices(self, share: Share) -> tuple[Matrix, ...]:
        """Return the product with the vocabulary."""
        return (Matrix(n=self.vocabulary / share.tp, k=self.hidden),)

    def moved(self, share: Share) -> tuple[Array, Array]:
        """Return the bytes of the loss for each token, 20 of a logit.

        Forwards a logit of 4 bytes is written and read for the maximum and for the sum of exponentials; backwards it is
        read, and its gradient of 4 bytes is written.
        """
        words = self.vocabulary / share.tp
        return 12.0 * words, 8.0 * words

    def kept(self, share: Share) -> Array:
        """Return the logits of 4 bytes."""
        return 4.0 * self.vocabulary / share.tp
