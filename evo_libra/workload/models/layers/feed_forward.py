"""Feed-forward blocks: one for all tokens, or experts that tokens are routed to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evo_libra.workload.models.kernels import Array
from evo_libra.workload.models.layers.kept import ACTIVATION, EXPERT_ACTIVATION, EXPERTS, MLP, Kept
from evo_libra.workload.models.layers.sublayer import Matrix, Number, Share, Size, Sublayer


@dataclass(frozen=True)
class FeedForward(Sublayer):
    """A feed-forward block for all tokens.

    Attributes
    ----------
    width : between its matrices.
    gated : whether it has a third matrix, as SwiGLU has.
    biased : whether its linear layers have biases.
    """

    block: ClassVar[str] = MLP

    width: Size
    gated: bool
    biased: bool = False

    def matrices(self, share: Share) -> tuple[Matrix, ...]:
        """Return the way up, with that of the gate, and the way down."""
        width = self.width / share.tp
        return (
            Matrix(n=width * (1 + self.gated), k=self.hidden, biased=self.biased),
            Matrix(n=self.hidden, k=width, biased=self.biased),
        )

    def moved(self, share: Share) -> tuple[Array, Array]:
        """Return what the activation reads and writes: 2 bytes of each input, output and gradient."""
        width = self.width / share.tp
        return (4 + 2 * self.gated) * width, (6 + 4 * self.gated) * width

    def tensors(self, share: Share) -> tuple[Kept, ...]:
        """Return the inputs of the activation, and its output, which the way down keeps."""
        return _inner(self.width / share.tp, self.gated, (MLP,), (MLP, ACTIVATION))

    def outputs(self, share: Share) -> tuple[Array, ...]:
        """Return the ways up and the way down, a product each."""
        return *(1 + self.gated) * (self.width / share.tp,), self.hidden / share.sequence

    def again(self, share: Share, module: str) -> tuple[tuple[Matrix, ...], Array]:
        """Return the activation, or the whole block."""
        return ((), self.moved(share)[0]) if module == ACTIVATION else super().again(share, module)


def _inner(width: Array, gated: bool, modules: tuple[str, ...], activation: tuple[str, ...]) -> tuple[Kept, ...]:  # noqa: FBT001 - as the field
    """Return inputs and output of an activation of some width, with the modules whose recomputation gives either."""
    return (
        Kept(width * (1 + gated), inner=True, modules=modules),
        Kept(width, activation=False, product=True, modules=activation),
    )


@dataclass(frozen=True)
class RoutedFeedForward(Sublayer):
    """Experts that a router sends each token to, and maybe experts that every token passes.

    Attributes
    ----------
    width : between the matrices of an expert.
    count, chosen : experts, and how many of them a token is sent to.
    shared_width : of the experts that every token passes, all together; 0 for none.
    gated : whether an expert has a third matrix.
    biased : whether the linear layers of experts have biases.
    """

    block: ClassVar[str] = EXPERTS

    width: Size
    count: Size
    chosen: Size
    shared_width: Number
    gated: bool
    biased: bool = False

    @property
    def experts(self) -> int:
        """Experts that an expert parallel group shares out."""
        return self.count

    @property
    def per_token(self) -> int:
        """Experts that each token is sent to."""
        return self.chosen

    @property
    def reduces(self) -> bool:
        """Whether shared experts are split over the tensor parallel group; the others send their outputs back."""
        return self.shared_width > 0

    @property
    def _shared(self) -> FeedForward:
        return FeedForward(self.hidden, self.shared_width, self.gated, self.biased)

    def matrices(self, share: Share) -> tuple[Matrix, ...]:
        """Return the router, the experts of an NPU, and its part of the shared ones; tokens reach experts at random."""
        chance = self.chosen / self.count

        def expert(n: int, k: int) -> Matrix:
            rows, count = share.ep / share.tp * chance, self.count / share.ep
            return Matrix(n, k, rows=rows, count=count, chance=chance, routed=True, biased=self.biased)

        router = Matrix(n=self.count, k=self.hidden, rows=1.0 / share.sequence, precision="bf16")
        shared = self._shared.matrices(share) if self.shared_width else ()
        return router, expert(self.width * (1 + self.gated), self.hidden), expert(self.hidden, self.width), *shared

    def moved(self, share: Share) -> tuple[Array, Array]:
        """Return what activations read and write, and the copies of tokens to and from their experts."""
        copies = self.chosen / share.tp
        permuted, shared = 8.0 * copies * self.hidden, self._shared.moved(share)
        forward = copies * (4 + 2 * self.gated) * self.width + permuted + shared[0]
        return forward, copies * (6 + 4 * self.gated) * self.width + permuted + shared[1]

    def tensors(self, share: Share) -> tuple[Kept, ...]:
        """Return copies of tokens before and after their experts, and inputs and output of activations.

        The weight of the router commutes with a product without biases, so that software may do without the copies
        after it.
        """
        copies, both = self.chosen / share.tp, (EXPERTS, EXPERT_ACTIVATION)
        return (
            Kept(copies * self.hidden, activation=False, product=True, modules=(EXPERTS,)),
            Kept(copies * self.hidden, outputs=not self.biased, modules=(EXPERTS,)),
            *_inner(copies * self.width, self.gated, (EXPERTS,), both),
            *_inner(self.shared_width / share.tp, self.gated, (EXPERTS,), (EXPERTS,)),
        )

    def again(self, share: Share, module: str) -> tuple[tuple[Matrix, ...], Array]:
        """Return the activation of routed experts, or the whole block."""
        if module == EXPERT_ACTIVATION:
            return (), self.chosen / share.tp * (4 + 2 * self.gated) * self.width
        return super().again(share, module)
