"""Linear attention and state spaces: a state of fixed size in place of a cache that grows."""

from __future__ import annotations

from dataclasses import dataclass

from evo_libra.workload.models.kernels import Array
from evo_libra.workload.models.layers.kept import Kept
from evo_libra.workload.models.layers.sublayer import Cell, Core, Matrix, Number, Scan, Share, Size, StepWork, Sublayer

_STATE, _INPUT = 4.0, 2.0
"""Bytes of an element of a state, and of an activation."""


@dataclass(frozen=True)
class Recurrent(Sublayer):
    """A sublayer that sums what it has seen into a state, behind a short convolution."""

    def state(self, share: Share) -> Array:
        """Return (n,) elements of the state of a sequence on an NPU."""
        raise NotImplementedError

    def channels(self, share: Share) -> Array:
        """Return (n,) channels of the convolution on an NPU."""
        raise NotImplementedError

    @property
    def taps(self) -> int:
        """Tokens that the convolution sees."""
        raise NotImplementedError

    def cache(self, share: Share, tokens: Array, cell: Cell) -> Array:  # noqa: ARG002 - it has a precision of its own
        """Return the state, and the inputs that the convolution sees again, whatever the number of tokens."""
        return 0.0 * tokens + _STATE * self.state(share) + _INPUT * (self.taps - 1) * self.channels(share)

    def step(self, share: Share, context: Array, cell: Cell) -> StepWork:
        """Return the decay, the sum and the read-out of the state, 6 FLOP of an element; it is read and written."""
        return StepWork(6.0 * self.state(share), 2.0 * self.cache(share, context, cell))

    def gathered(self, share: Share, tokens: Array, sequences: Array, npus: Array) -> Array:  # noqa: ARG002 - by states
        """Return the state of each sequence at the end of each NPU's tokens."""
        return _STATE * npus * sequences * self.state(share)


@dataclass(frozen=True)
class StateSpace(Recurrent):
    """Mamba-2: state space duality (Dao and Gu 2024, arXiv 2405.21060).

    Attributes
    ----------
    heads, head_width : heads and their width.
    groups, state_width : heads share inputs and outputs of states, B and C, in groups; the states of each channel.
    taps : tokens that the convolution sees.
    chunk : tokens that a kernel multiplies as attention does.
    """

    heads: Size
    head_width: Size
    groups: Size
    state_width: Size
    taps: Size = 4
    chunk: Size = 256

    def _inner(self, share: Share) -> Array:
        return self.heads / share.tp * self.head_width

    def _shared(self, share: Share) -> Array:
        return 2.0 * share.heads(self.groups) * self.state_width

    def state(self, share: Share) -> Array:
        """Return the states of all channels."""
        return self._inner(share) * self.state_width

    def channels(self, share: Share) -> Array:
        """Return inputs, B and C."""
        return self._inner(share) + self._shared(share)

    @property
    def vectors(self) -> int:
        """Convolution with biases, norm, and for each head a decay, a step and a bypass."""
        inner = self.heads * self.head_width
        return (self.taps + 1) * (inner + 2 * self.groups * self.state_width) + inner + 3 * self.heads

    def matrices(self, share: Share) -> tuple[Matrix, ...]:
        """Return gates, inputs, B, C and steps, and the way out."""
        inner = self._inner(share)
        width = 2.0 * inner + self._shared(share) + self.heads / share.tp
        return Matrix(n=width, k=self.hidden), Matrix(n=self.hidden, k=inner)

    def cores(self, share: Share, sequence: int) -> tuple[Core, ...]:
        """Return the products of chunks: C (g N + h P) FLOP of a token within, 4 h P N with states between them."""
        inner, groups, chunk = self._inner(share), self._shared(share) / 2.0, min(self.chunk, sequence)
        work = chunk * (groups + inner) + 4.0 * self.state(share)
        moved = _INPUT * (self.channels(share) + inner) + 2.0 * _STATE * self.state(share) / chunk
        return (Scan(work, moved),)

    def moved(self, share: Share) -> tuple[Array, Array]:
        """Return what the convolution, the gate and its norm read and write."""
        forward = 2.0 * _INPUT * self.channels(share) + 3.0 * _INPUT * self._inner(share)
        return forward, 2.0 * forward

    def tensors(self, share: Share) -> tuple[Kept, ...]:
        """Return outputs of the way in, of the convolution, of the scan, and of the gate, which the way out keeps."""
        inner = self._inner(share)
        entering = 3.0 * inner + 2.0 * self._shared(share) + self.heads / share.tp
        return Kept(entering), Kept(inner, core=True), Kept(inner, activation=False, product=True)


@dataclass(frozen=True)
class SelectiveScan(Recurrent):
    """Mamba: a selective state space of each channel (Gu and Dao 2023, arXiv 2312.00752).

    Attributes
    ----------
    width : channels.
    state_width : states of a channel.
    rank : width of the narrow layer of steps.
    taps : tokens that the convolution sees.
    """

    width: Size
    state_width: Size
    rank: Size
    taps: Size = 4

    def state(self, share: Share) -> Array:
        """Return the states of all channels."""
        return self.width / share.tp * self.state_width

    def channels(self, share: Share) -> Array:
        """Return all channels."""
        return self.width / share.tp

    @property
    def vectors(self) -> int:
        """Convolution with biases, decays, bypass, biases of steps, and norms of steps, B and C."""
        return self.width * (self.taps + 3 + self.state_width) + self.rank + 2 * self.state_width

    def matrices(self, share: Share) -> tuple[Matrix, ...]:
        """Return inputs and gates, steps with B and C, the way up to the steps, and out."""
        width = self.width / share.tp
        return (
            Matrix(n=2.0 * width, k=self.hidden),
            Matrix(n=self.rank + 2 * self.state_width, k=width),
            Matrix(n=width, k=self.rank),
            Matrix(n=self.hidden, k=width),
        )

    def cores(self, share: Share, sequence: int) -> tuple[Core, ...]:  # noqa: ARG002 - every token alike
        """Return 9 FLOP of a state, and inputs, steps, outputs, B and C of 2 bytes."""
        moved = _INPUT * (3.0 * self.width / share.tp + 2.0 * self.state_width)
        return (Scan(9.0 * self.state(share), moved),)

    def moved(self, share: Share) -> tuple[Array, Array]:
        """Return what the convolution and the gate read and write."""
        forward = 5.0 * _INPUT * self.width / share.tp
        return forward, 2.0 * forward

    def tensors(self, share: Share) -> tuple[Kept, ...]:
        """Return inputs, gates, convolution, steps, scan and outputs, and the narrow steps with B and C."""
        width = self.width / share.tp
        return (
            Kept(3.0 * width + 2 * self.state_width),
            Kept(width, product=True),
            Kept(self.rank, product=True),
            Kept(width, core=True),
            Kept(width, activation=False, product=True),
        )


@dataclass(frozen=True)
class GatedDelta(Recurrent):
    """Linear attention by the gated delta rule (Yang et al. 2024, arXiv 2412.06464).

    With gates of a narrow layer it is Kimi Delta Attention, which decays each channel of keys by itself (arXiv
    2510.26692).

    Attributes
    ----------
    key_heads, value_heads : heads of queries and keys, and of values, each of which has a state.
    key_width, value_width : widths of a head.
    gate_rank : width of the narrow layers of decays and of output gates; 0 for a decay of each head and a full gate.
    taps : tokens that the convolution sees.
    chunk : tokens that a kernel multiplies as attention does.
    """

    key_heads: Size
    value_heads: Size
    key_width: Size
    value_width: Size
    gate_rank: Number = 0
    taps: Size = 4
    chunk: Size = 64

    def _keys(self, share: Share) -> Array:
        return share.heads(self.key_heads) * self.key_width

    def _values(self, share: Share) -> Array:
        return share.heads(self.value_heads) * self.value_width

    def state(self, share: Share) -> Array:
        """Return a state of key by value for each head of values."""
        return self._values(share) * self.key_width

    def channels(self, share: Share) -> Array:
        """Return queries, keys and values."""
        return 2.0 * self._keys(share) + self._values(share)

    @property
    def vectors(self) -> int:
        """Convolution, norm, and decays with their biases, of heads or of channels."""
        channels = 2 * self.key_heads * self.key_width + self.value_heads * self.value_width
        biases = self.value_heads * (self.key_width if self.gate_rank else 1)
        return self.taps * channels + self.value_width + self.value_heads + biases

    def matrices(self, share: Share) -> tuple[Matrix, ...]:
        """Return queries, keys, values, gates and rates of learning, and the way out."""
        heads, values = share.heads(self.value_heads), self._values(share)
        out = Matrix(n=self.hidden, k=values)
        if not self.gate_rank:
            return Matrix(n=self.channels(share) + values + 2.0 * heads, k=self.hidden), out
        narrow = Matrix(n=self.channels(share) + heads + 2 * self.gate_rank, k=self.hidden)
        return narrow, Matrix(n=heads * (self.key_width + self.value_width), k=self.gate_rank), out

    def cores(self, share: Share, sequence: int) -> tuple[Core, ...]:
        """Return the products of chunks.

        Within one C (3 K + 2 V) FLOP of a token and head, with the state between them 6 K V.
        """
        chunk, heads = min(self.chunk, sequence), share.heads(self.value_heads)
        work = heads * chunk * (3.0 * self.key_width + 2.0 * self.value_width) + 6.0 * self.state(share)
        moved = _INPUT * (self.channels(share) + self._values(share)) + 2.0 * _STATE * self.state(share) / chunk
        return (Scan(work, moved),)

    def moved(self, share: Share) -> tuple[Array, Array]:
        """Return what the convolution, the gate and its norm read and write."""
        forward = 2.0 * _INPUT * self.channels(share) + 3.0 * _INPUT * self._values(share)
        return forward, 2.0 * forward

    def tensors(self, share: Share) -> tuple[Kept, ...]:
        """Return what goes into the convolution and comes out of it, gates, results, and outputs of the gate."""
        values = self._values(share)
        return (
            Kept(2.0 * self.channels(share) + values),
            Kept(values, core=True),
            Kept(values, activation=False, product=True),
        )
