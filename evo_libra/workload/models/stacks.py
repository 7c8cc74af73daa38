"""Training software: how it differs from any other, with the rows that say so."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf


@dataclass(frozen=True)
class Stack:
    """Training software.

    Attributes
    ----------
    compute : factor on its compute time, fitted to all rows of that software.
    hides_data : the part of compute that hides data parallel traffic where a plan overlaps the two.
    hides_gather : the second gather of sequence parallelism runs alongside the gradients of weights, even where a plan
        overlaps nothing else.
    ring_efficiency : the data parallel group runs one ring through one NIC of each server, at this part of its rate;
        None where collectives use the whole network.
    loss : kind of its loss, of `losses.LOSSES`.
    at_a_time : weights that ZeRO's stage 3 gathers at a time, at most, if a matrix is no larger; PyTorch's FSDP gathers
        a layer.
    source : rows that the figures come from.
    """

    name: str
    compute: float = 1.0
    hides_data: float = 1.0
    hides_gather: bool = False
    ring_efficiency: float | None = None
    loss: str = "vocabulary-parallel"
    at_a_time: float = inf
    source: str = ""


STACKS = {
    stack.name: stack
    for stack in (
        Stack("any"),
        Stack("megatron-2021", source="Narayanan et al. 2021, tables 1 and 2: the rows of reference"),
        Stack(
            "megatron-2022",
            compute=0.951,
            hides_gather=True,
            source="Korthikanti et al. 2022, table 5 (factor) and section 4.2.2 (overlap of gathers)",
        ),
        Stack(
            "torchtitan-2024",
            loss="unfused",
            source="torchtitan, benchmarks of Llama 3 on H100, 2024: PyTorch's cross-entropy",
        ),
        Stack("llama-3", compute=1.024, source="Llama 3, table 4"),
        Stack(
            "deepspeed-2021",
            hides_data=0.521,
            ring_efficiency=0.772,
            at_a_time=1e9,
            source="Narayanan et al. 2021, table 2: rows of ZeRO-3; DeepSpeed's documentation, 2021: "
            "stage3_max_live_parameters",
        ),
    )
}
"""Software by name."""
