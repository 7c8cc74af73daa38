"""Training software: how it differs from any other, by its year and the accelerators, with the rows that say so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any


@dataclass(frozen=True)
class Stack:
    """Training software.

    Attributes
    ----------
    year : of its rows; 0 for none.
    compute : factor on its compute time, fitted to all rows of that software; `narrow` : a further one where products
        have 8 bits, which draw less power.
    attention : rate of its fused attention over that of the accelerator's constants; `ring_attention` : over that in
        context parallel groups of more than two.
    quantisation : bytes that quantising the inputs of products moves, over those of the accelerator's constants.
    hides_tensor : share of the overlapped traffic of a tensor parallel group that runs alongside products; None for all
        but that of one of the pieces that a product is cut into, and 0 where the software cannot overlap it.
    taken : share of the accelerator's processors that collectives alongside products take.
    hides_data : the part of compute that hides data parallel traffic where a plan overlaps the two.
    exposes_data : share of the time that this traffic takes beyond a scale-up domain that nothing hides: of the last
        buckets of gradients, their norm, and the weights that the first layers need.
    data_rate : share of its bandwidth beyond a scale-up domain that this traffic keeps alongside products.
    data_processors : share of the accelerator's processors that this traffic takes from products alongside it.
    hides_gather : the second gather of sequence parallelism runs alongside the gradients of weights, even where a plan
        overlaps nothing else.
    hides_experts : it can run the all-to-alls of experts alongside the compute of another microbatch.
    weighs_outputs : it multiplies outputs of experts by the router's weight after the last product, so that they wait
        for the backward pass. Megatron-Core (arXiv 2603.07685, 2026, memory-efficient permutation) and torchtitan
        multiply before it, MaxText after it.
    ring_efficiency : the data parallel group runs one ring through one NIC of each server, at this part of its rate;
        None where collectives use the whole network.
    loss : kind of its loss, of `losses.LOSSES`.
    at_a_time : weights that ZeRO's stage 3 gathers at a time, at most, if a matrix is no larger; PyTorch's FSDP gathers
        a layer.
    source : rows that the figures come from.
    rows, error : how many these are, and the mean of the sizes of their relative errors; 0 for none.
    generations : what differs on accelerators of a generation, by its name.
    """

    name: str
    year: int = 0
    compute: float = 1.0
    narrow: float = 1.0
    attention: float = 1.0
    ring_attention: float = 1.0
    quantisation: float = 1.0
    hides_tensor: float | None = None
    taken: float = 0.0
    hides_data: float = 1.0
    exposes_data: float = 0.0
    data_rate: float = 1.0
    data_processors: float = 0.0
    hides_gather: bool = False
    hides_experts: bool = False
    weighs_outputs: bool = False
    ring_efficiency: float | None = None
    loss: str = "vocabulary-parallel"
    at_a_time: float = inf
    source: str = ""
    rows: int = 0
    error: float = 0.0
    generations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def exposes(self) -> bool:
        """Whether data parallel traffic beyond scale-up domains interferes with compute, or is exposed."""
        return self.exposes_data > 0.0 or self.data_rate < 1.0 or self.data_processors > 0.0

    def compute_in(self, precision: str) -> float:
        """Return the factor on its compute time in a precision of linear layers."""
        return self.compute * (1.0 if precision == "bf16" else self.narrow)

    def on(self, generation: str | None) -> Stack:
        """Return the software with its figures on accelerators of a generation."""
        return replace(self, **self.generations.get(generation or "", {}))


_PAIR = 0.37
"""Share that the two measured pairs with and without asynchronous tensor parallelism give: 0.367 and 0.368 (torchtitan,
2025, 8B and 70B in bf16 at tp 8 on H100)."""

_MEGATRON_EXPOSES = 0.65
"""Fit to MLPerf 5.1, 2025: 8B on 32 and 128 B200, one microbatch in a step."""

_TORCH_EXPOSES = 0.38
"""Fit to torchtitan, 2024: 8B on 128 over 8 H100, less what the optimizer gains there."""

_FLASH_ATTENTION_2 = 0.573
"""FlashAttention 2 over 3 forwards on H100, 370 over 646 TFLOP/s at 8k tokens and heads of 128 (FlashAttention 3, 2024,
read second-hand; the accelerator's constants are as fast as the latter)."""

_FUSED_CASTS = 2.0 / 10.4
"""Bytes of an 8-bit copy and a transposed one over the 10.4 of a kernel alone: with delayed scaling the norm or the
activation before writes both."""

_USER_BUFFERS = "NeMo's recipes of overlap, 2025 (processors of exchanges by product, weighted by their FLOP)"

STACKS = {
    stack.name: stack
    for stack in (
        Stack("any", hides_experts=True, weighs_outputs=True),
        Stack(
            "megatron-2021",
            year=2021,
            hides_tensor=0.0,
            source="Narayanan et al. 2021, tables 1 and 2: the rows of reference",
            rows=16,
            error=0.016,
        ),
        Stack(
            "megatron-2022",
            year=2022,
            compute=0.952,
            hides_gather=True,
            hides_tensor=0.0,
            source="Korthikanti et al. 2022, table 5 (factor) and section 4.2.2 (overlap of gathers)",
            rows=8,
            error=0.026,
        ),
        Stack("llama-3", year=2024, compute=1.007, source="Llama 3, table 4", rows=3, error=0.023),
        Stack(
            "deepspeed-2021",
            year=2021,
            hides_data=0.496,
            ring_efficiency=0.776,
            hides_tensor=0.0,
            at_a_time=1e9,
            source="Narayanan et al. 2021, table 2: rows of ZeRO-3; DeepSpeed's documentation, 2021: "
            "stage3_max_live_parameters",
            rows=6,
            error=0.048,
        ),
        Stack(
            "megatron-2025",
            year=2025,
            hides_experts=True,
            exposes_data=_MEGATRON_EXPOSES,
            generations={
                "hopper": {
                    "quantisation": _FUSED_CASTS,
                    "taken": 3.0 / 132.0,
                    "source": f"MLPerf 4.1 and 5.0 and DGX Cloud, 2024-25, on H100: the casts of 8 bits are derived, "
                    f"and were chosen among several that were tried on 15 rows; {_USER_BUFFERS}",
                    "rows": 24,
                    "error": 0.017,
                },
                "blackwell": {
                    "hides_tensor": 0.33,
                    "taken": 4.0 / 148.0,
                    "source": "MLPerf 5.0 and 5.1 and DGX Cloud, 2025, on GB200 and B200: share fitted to the seven "
                    f"rows with tensor parallelism; {_USER_BUFFERS}",
                    "rows": 10,
                    "error": 0.023,
                },
            },
        ),
        Stack(
            "unmeasured-2025",
            year=2025,
            weighs_outputs=True,
            hides_experts=True,
            hides_tensor=_PAIR,
            exposes_data=(_MEGATRON_EXPOSES + _TORCH_EXPOSES) / 2.0,
            source="no rows: the share of the measured pairs, and the mean of the two fitted exposures, 0.65 and 0.38",
        ),
        Stack(
            "llm-foundry-2023",
            year=2023,
            exposes_data=_TORCH_EXPOSES,
            hides_tensor=0.0,
            loss="fused",
            generations={"hopper": {"attention": _FLASH_ATTENTION_2, "compute": 1.1}},
            source="MosaicML llm-foundry, training benchmarks, 2023: nothing fitted",
            rows=138,
            error=0.103,
        ),
        Stack(
            "torchtitan-2025",
            year=2025,
            exposes_data=_TORCH_EXPOSES,
            hides_tensor=_PAIR,
            loss="unfused",
            generations={
                "hopper": {
                    "attention": _FLASH_ATTENTION_2,
                    "compute": 1.12,
                    "narrow": 0.965,
                    "ring_attention": 0.69,
                    "source": "torchtitan, 2024-25, 8B and 70B on boards of 500 W: factors fitted to ten rows, that of "
                    "attention in groups of more than two to two",
                    "rows": 12,
                    "error": 0.029,
                },
            },
        ),
    )
}
"""Software by name."""

NEWEST = "newest"
"""Name in files of the newest software with rows of the accelerators of a generation."""


def stack_of(name: str, generation: str | None) -> Stack:
    """Return the software of a name with its figures on accelerators of a generation.

    >>> stack_of("newest", "hopper").name, stack_of("newest", None).name
    ('megatron-2025', 'unmeasured-2025')
    """
    if name == NEWEST:
        name = "megatron-2025" if generation in STACKS["megatron-2025"].generations else "unmeasured-2025"
    return STACKS[name].on(generation)
