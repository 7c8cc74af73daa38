"""Tensors that a sublayer keeps for its backward pass, and the modules whose recomputation does without them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from evo_libra.workload.models.kernels import Array

ELEMENT = 2.0
"""Bytes of an element of 16 bits."""

NORM, ATTENTION, MLP, ACTIVATION, EXPERTS, EXPERT_ACTIVATION, LATENT_UP = MODULES = (
    "layernorm", "core_attn", "mlp", "mlp_act", "moe", "moe_act", "mla_up_proj",
)  # fmt: skip
"""Modules that may run again in the backward pass, as Megatron names them; `mlp_act` is the activation of `mlp`."""


@dataclass(frozen=True)
class Kept:
    """A tensor that waits for the backward pass.

    Attributes
    ----------
    width : (n,) elements of an NPU for each token.
    activation : whether something other than a product needs it, in 16 bits.
    product : whether a product needs it for the gradient of its weights, in the precision of products. If both need it
        in 16 bits, it is one tensor.
    inner : whether it is the input of an activation function, which software may keep in 8 bits.
    outputs : whether it is the output of experts, which waits only where software weighs it after the last product.
    core : whether it is a result of the work among tokens, which no policy computes again operation by operation.
    modules : those that give it if one of them runs again.
    """

    width: Array
    activation: bool = True
    product: bool = False
    inner: bool = False
    outputs: bool = False
    core: bool = False
    modules: tuple[str, ...] = ()

    def bytes(self, element: float = ELEMENT, inner: float = ELEMENT) -> Array:
        """Return (n,) bytes for each token, with some bytes of an element of products and of activations' inputs.

        >>> result = Kept(128.0, product=True)
        >>> result.bytes(), result.bytes(1.0)
        (256.0, 384.0)
        >>> Kept(128.0, inner=True).bytes(1.0), Kept(128.0, inner=True).bytes(1.0, 1.0)
        (256.0, 128.0)
        """
        of_product = 0.0 if self.activation and element == ELEMENT else element
        of_activation = (inner if self.inner else ELEMENT) * self.activation
        return (of_activation + of_product * self.product) * self.width


def kept_bytes(tensors: Iterable[Kept], element: float = ELEMENT, inner: float = ELEMENT) -> Array:
    """Return (n,) bytes of some tensors for each token."""
    found: Array = 0.0
    for tensor in tensors:
        found = found + tensor.bytes(element, inner)
    return found
