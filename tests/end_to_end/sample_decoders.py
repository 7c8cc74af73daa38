"""Decoders that random tests draw from: dense, with experts, and with latent attention, too."""

from __future__ import annotations

from evo_libra.workload.models.decoder import Decoder
from evo_libra.workload.models.decoder_spec import Experts, LatentAttention

DENSE = Decoder(
    name="dense", layers=32, hidden=8192, heads=64, kv_heads=8, head_width=128, feed_forward=28672, gated=True,
    vocabulary=128256,
)  # fmt: skip
ROUTED = DENSE.model_copy(
    update={
        "name": "routed",
        "experts": Experts(count=64, per_token=4, feed_forward=4096, shared_feed_forward=4096, dense_layers=2),
    }
)
LATENT = ROUTED.model_copy(
    update={
        "name": "latent",
        "latent": LatentAttention(query_rank=1536, kv_rank=512, nope_width=128, rope_width=64, value_width=128),
    }
)
