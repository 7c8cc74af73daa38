"""Deep learning recommendation models, as in LIBRA's study (ISPASS 2024)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from evo_libra.collective import Collective
from evo_libra.workload.generators import BYTES_PER_ELEMENT, NANOSECOND, matrix_product
from evo_libra.workload.parallelism import ALL
from evo_libra.workload.workload import Layer, Phase, Workload


def dlrm(
    name: str,
    *,
    batch: int,
    bottom_mlp: Sequence[int],
    top_mlp: Sequence[int],
    tables: int,
    embedding: int,
    embedding_ns: Sequence[int],
    rate: float,
) -> Workload:
    """Generate one training iteration of a recommendation model.

    The embedding tables are spread over all NPUs: look-ups and their gradients are exchanged by an all-to-all over all
    of them. The MLPs are replicated; their gradients are all-reduced over all NPUs at the first row.

    Parameters
    ----------
    name : of the workload.
    batch : samples per NPU.
    bottom_mlp, top_mlp : widths, the input first.
    tables, embedding : number of embedding tables and width of an embedding.
    embedding_ns : look-up, input-gradient and update time in ns; bound by memory, not by the compute rate.
    rate : FLOP/s of one NPU.
    """
    exchange = float(batch * tables * embedding * BYTES_PER_ELEMENT)
    weights = sum(a * b for mlp in (bottom_mlp, top_mlp) for a, b in pairwise(mlp))
    look_up, gradient, update = (time * NANOSECOND for time in embedding_ns)
    embeddings = Layer(
        "embeddings",
        Phase(look_up, Collective.ALL_TO_ALL, exchange, ALL),
        Phase(gradient, Collective.ALL_TO_ALL, exchange, ALL),
        Phase(update, Collective.ALL_REDUCE, float(weights * BYTES_PER_ELEMENT), ALL),
    )
    mlps = [
        Layer(f"{label}-mlp{number}", *[matrix_product(batch, a, b, rate)] * 3)
        for label, mlp in (("bottom", bottom_mlp), ("top", top_mlp))
        for number, (a, b) in enumerate(pairwise(mlp))
    ]
    return Workload(name, (embeddings, *mlps))
