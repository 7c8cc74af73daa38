"""Kinds of loss of a language model, by the bytes of each logit that they need at a time."""

from __future__ import annotations

LOSSES = {
    "unfused": 14.0,
    "vocabulary-parallel": 8.0,
    "chunked": 5.5,
    "fused": 4.0,
    "fused-head": 0.0,
}
"""Bytes of a logit by the kind of loss.

- unfused, PyTorch's cross-entropy: logits of 2 bytes, a copy of 4, log-probabilities of 4 and a gradient of 4.
- vocabulary-parallel, Megatron's: logits of 2 bytes, a copy of 4 whose place exponentials and gradient take, and the
  gradient of 2 (its public source).
- chunked: eight chunks of the unfused one save 7.3 of 49.6 GiB for 8,192 tokens of 128,256 words (torchtitan, pull
  request 996), 8.5 bytes.
- fused: logits and their gradient in one place of 4 bytes.
- fused-head: a kernel that multiplies and sums chunk by chunk, and never stores logits.
"""
