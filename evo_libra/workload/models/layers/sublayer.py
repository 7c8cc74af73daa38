"""A sublayer: a part of a decoder layer with weights of its own, and the figures from which all others follow."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar, Protocol

import numpy as np
from pydantic import ConfigDict, Field

from evo_libra.arrays import FloatArray
from evo_libra.workload.models.kernels import Array, Kernels, scaled
from evo_libra.workload.models.layers.kept import ELEMENT, Kept, kept_bytes

Size = Annotated[int, Field(ge=1, le=10**9)]
Number = Annotated[int, Field(ge=0, le=10**9)]


@dataclass(frozen=True)
class Share:
    """NPUs among which a sublayer is split; a default share is the whole of it.

    Attributes
    ----------
    tp, ep : (n,) NPUs of the tensor and the expert parallel group.
    sequence : (n,) NPUs of the tensor parallel group that share out the tokens which routers see; 1 in decoding.
    """

    tp: Array = 1.0
    ep: Array = 1.0
    sequence: Array = 1.0

    def heads(self, heads: int) -> Array:
        """Return (n,) heads of an NPU; below one, a head is copied."""
        return np.maximum(heads / self.tp, 1.0)


WHOLE = Share()


@dataclass(frozen=True)
class Cell:
    """Bytes of an element of the cache, and of the scale of each token and head."""

    element: float
    scale: float


@dataclass(frozen=True)
class Matrix:
    """Equal matrices of weights on an NPU, each with its product: (m, k) activations by (k, n) weights.

    Attributes
    ----------
    n, k : sizes.
    rows : m for each token of the NPU.
    count : how many matrices.
    chance : that a token comes to a matrix; below 1 in experts.
    routed : whether the matrices are experts', which an expert parallel group shares out.
    precision : of the products; None for that of the model's linear layers.
    biased : whether each output has a bias.
    """

    n: Array
    k: Array
    rows: Array = 1.0
    count: Array = 1.0
    chance: float = 1.0
    routed: bool = False
    precision: str | None = None
    biased: bool = False

    @cached_property
    def weights(self) -> FloatArray:
        """(n,) weights of an NPU, without biases."""
        return scaled(np.asarray(self.n * self.k), self.count)

    @property
    def flop(self) -> FloatArray:
        """(n,) FLOP of an NPU for each of its tokens: 2 m n k of each matrix."""
        return scaled(2.0 * self.weights, self.rows)

    def part_read(self, tokens: Array) -> Array:
        """Return (n,) the part of the matrices that some tokens of each NPU read; they come to experts at random."""
        if self.chance == 1.0:
            return 1.0
        return 1.0 - (1.0 - self.chance) ** np.maximum(tokens * self.rows / self.chance, 1.0)


class Core(Protocol):
    """Work among the tokens of a sequence, which has no weights."""

    @property
    def work(self) -> Array:
        """(n,) FLOP of an NPU for each of its tokens in the forward pass, causal ones alone."""

    def seconds(self, kernels: Kernels, tokens: FloatArray, *, fused: bool) -> tuple[FloatArray, FloatArray]:
        """Return (n,) seconds of the forward and the backward pass over some tokens."""

    def kept(self, *, fused: bool) -> Array:
        """Return (n,) bytes for each token that wait for the backward pass."""


@dataclass(frozen=True)
class Attention:
    """Attention among the tokens of a sequence.

    Attributes
    ----------
    heads : (n,) of an NPU.
    widths : of a head of queries and of one of values together.
    sequence : tokens.
    attended : twice the tokens that one attends to, on average: `sequence` with causal attention to all before it.
    windowed : whether a window slides over the sequence, whose tiles have edges at its end, too.
    """

    heads: Array
    widths: int
    sequence: int
    attended: float
    windowed: bool = False

    @property
    def work(self) -> Array:
        """(n,) FLOP for each token: a product for the scores, and one for the values."""
        return self.attended * self.heads * self.widths

    def seconds(self, kernels: Kernels, tokens: FloatArray, *, fused: bool) -> tuple[FloatArray, FloatArray]:
        """Return (n,) seconds of the passes; kernels that are not fused compute the scores of all pairs of tokens."""
        if fused:
            work, width = tokens * self.work, self.widths / 2.0
            return kernels.fused_attention(work, self.attended, width, windowed=self.windowed)
        scores = tokens * self.sequence * self.heads
        return kernels.unfused_attention(2.0 * scores * self.widths, scores)

    def kept(self, *, fused: bool) -> Array:
        """Return (n,) bytes for each token: the sum of its exponentials, or scores with the mask of their dropout.

        Korthikanti et al. 2022, section 4.1: 5 a s^2 b bytes of softmax, its dropout and the mask.
        """
        return 4.0 * self.heads if fused else 5.0 * self.sequence * self.heads


@dataclass(frozen=True)
class Scan:
    """Work of chunk by chunk kernels of linear attention, which keep nothing that they can compute again.

    Attributes
    ----------
    work : (n,) FLOP for each token.
    moved : (n,) bytes for each token that a forward pass reads and writes.
    """

    work: Array
    moved: Array

    def seconds(self, kernels: Kernels, tokens: FloatArray, *, fused: bool) -> tuple[FloatArray, FloatArray]:  # noqa: ARG002 - the signature is that of attention
        """Return (n,) seconds of the passes; the backward one has twice the work and the bytes."""
        return kernels.batched(tokens * self.work, tokens * self.moved), kernels.batched(
            2.0 * tokens * self.work, 2.0 * tokens * self.moved
        )

    def kept(self, *, fused: bool) -> Array:  # noqa: ARG002 - likewise
        """Return that nothing is kept."""
        return 0.0


@dataclass(frozen=True)
class StepWork:
    """Work of a token of a sequence with the cache of those before it: (n,) FLOP and (n,) bytes."""

    flop: Array
    moved: Array


@dataclass(frozen=True)
class Sublayer:
    """A part of a decoder layer that adds to the stream of activations; kinds override what is not so with them.

    Attributes
    ----------
    hidden : width of the model.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")
    block: ClassVar[str] = ""
    """Module that is all of it, so that its collectives run again with it; empty for none."""

    hidden: Size

    def matrices(self, share: Share) -> tuple[Matrix, ...]:
        """Return the matrices of an NPU with their products for many tokens."""
        raise NotImplementedError

    def step_matrices(self, share: Share) -> tuple[Matrix, ...]:
        """Return the same weights with their products for a token of each sequence."""
        return self.matrices(share)

    @property
    def vectors(self) -> int:
        """Weights outside of matrices and their biases, but for the norm before the sublayer."""
        return 0

    @property
    def experts(self) -> int:
        """Experts that an expert parallel group shares out; 1 for none."""
        return 1

    @property
    def per_token(self) -> int:
        """Experts that each token is sent to; 0 for none."""
        return 0

    @property
    def reduces(self) -> bool:
        """Whether a tensor parallel group reduces the outputs, even of experts that a group shares out."""
        return True

    def cores(self, share: Share, sequence: int) -> tuple[Core, ...]:  # noqa: ARG002 - kinds read them
        """Return the work among the tokens of a sequence."""
        return ()

    def moved(self, share: Share) -> tuple[Array, Array]:  # noqa: ARG002 - likewise
        """Return (n,) bytes of element-wise kernels for each token, forwards and backwards."""
        return 0.0, 0.0

    def tensors(self, share: Share) -> tuple[Kept, ...]:  # noqa: ARG002 - likewise
        """Return what waits for the backward pass, but for inputs from the stream and what cores keep."""
        return ()

    def kept(self, share: Share, element: float = ELEMENT, inner: float = ELEMENT) -> Array:
        """Return (n,) bytes of its tensors for each token, as `Kept.bytes` says."""
        return kept_bytes(self.tensors(share), element, inner)

    def again(self, share: Share, module: str) -> tuple[tuple[Matrix, ...], Array]:
        """Return the products of a module that runs again, and the (n,) bytes that its element-wise kernels move."""
        return (self.matrices(share), self.moved(share)[0]) if module and module == self.block else ((), 0.0)

    def outputs(self, share: Share) -> tuple[Array, ...]:
        """Return (n,) elements of each product's output for each token of an NPU, in the order of the products.

        A tensor parallel group shares out what goes back to the stream, as PyTorch does.
        """
        return tuple(scaled(scaled(np.asarray(one.n), one.rows), one.count) for one in self.matrices(share))

    def cache(self, share: Share, tokens: Array, cell: Cell) -> Array:  # noqa: ARG002 - likewise
        """Return (n,) bytes of the cache of a sequence of some tokens."""
        return 0.0

    def step(self, share: Share, context: Array, cell: Cell) -> StepWork | None:  # noqa: ARG002 - likewise
        """Return the work of a token with the cache of its context; None without a cache."""
        return None

    def gathered(self, share: Share, tokens: Array, sequences: Array, npus: Array) -> Array:  # noqa: ARG002 - likewise
        """Return (n,) bytes that a context parallel group of some NPUs gathers; 0.0 for nothing.

        Parameters
        ----------
        tokens : (n,) of all its NPUs; `sequences` : (n,) that these are.
        """
        return 0.0

    @property
    def exchanged_heads(self) -> tuple[int, ...]:
        """The numbers of heads that a context parallel group must divide to exchange them; empty where it cannot."""
        return ()

    def exchanged(self, share: Share) -> tuple[Array, Array]:  # noqa: ARG002 - likewise
        """Return (n,) bytes for each token that such a group exchanges before its core and after it."""
        return 0.0, 0.0

    def parameters(self, *, active: bool = False) -> int:
        """Return the number of weights, all of them or those that a token passes, without the norm before it."""
        found = self.vectors
        for matrix in self.matrices(WHOLE):
            count = matrix.count * matrix.chance if active else matrix.count
            found += round(float(count)) * int(matrix.n * matrix.k + matrix.n * matrix.biased)
        return found
