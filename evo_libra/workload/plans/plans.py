"""Parallelisation plans of a training step, as a struct of arrays."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, cast

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray

DEGREES = ("tp", "cp", "pp", "vp", "ep", "dp")
"""NPUs of process groups, and the virtual stages of a pipeline."""

PLACEMENTS = ("npu", "host", "nvme", "network", "io")
"""Place of the optimizer and its states: on the NPUs, in the memory of their hosts, on the SSDs of their hosts, in
servers of the network, or in memory behind I/O channels at the edge of the network, which weights stream through."""

NPU, HOST, NVME, NETWORK, IO = range(5)

SCHEDULES = ("1f1b", "zb-h1", "zb-h2", "dualpipe")
"""Schedules of pipelines: 1F1B, interleaved where there are virtual stages; zero bubble (Qi et al., ICLR 2024);
DualPipe (DeepSeek-V3, 2024)."""

ONE_F_ONE_B, ZB_H1, ZB_H2, DUALPIPE = range(4)

EVERY_LAYER = 10**6
"""Number of offloaded layers that is as many as there are."""

SHARDED_GRADIENTS, SHARDED_WEIGHTS = 2, 3
"""Stages of ZeRO from which on gradients and weights are sharded over the data parallel group."""


@dataclass(frozen=True)
class Plans:
    """Parallelisation plans; every array is (n,), or (1,) where it holds for all plans.

    Attributes
    ----------
    tp, cp, pp, ep, dp : NPUs of a tensor, context, pipeline, expert and data parallel group; ``tp*cp*pp*dp`` are all
        NPUs, and an expert group takes its NPUs from those of ``tp*cp*dp``.
    vp : virtual stages of an NPU (interleaved schedule); 1 is plain 1F1B.
    micro_batch : sequences of a microbatch.
    zero : ZeRO's stage, 0 to 3: states, gradients and weights are sharded over the data parallel group.
    recompute : what runs again in the backward pass, a number of `recomputation`.
    sequence_parallel : element-wise work and its activations are split over the tensor parallel group, too.
    overlap_tp, overlap_pp, overlap_dp, overlap_ep : that communication runs alongside compute where the schedule allows
        it; that of experts alongside the compute of another microbatch.
    optimizer : index into `PLACEMENTS`.
    expansion : index into the setup's choices of expansion memory.
    offloaded : layers of each stage whose activations wait in the memory of hosts.
    reshard : with ZeRO's stage 3, whether weights are sharded again after the forward pass; otherwise they stay whole.
    schedule : of the pipeline, index into `SCHEDULES`.
    replicate : copies of the shards of ZeRO: each group of ``dp / replicate`` shards, and gradients are summed across.
    ulysses : the context parallel group exchanges heads of attention for tokens in place of gathering keys and values
        (DeepSpeed-Ulysses, arXiv 2309.14509).
    """

    tp: IntArray
    cp: IntArray
    pp: IntArray
    vp: IntArray
    ep: IntArray
    dp: IntArray
    micro_batch: IntArray
    zero: IntArray
    recompute: IntArray
    sequence_parallel: BoolArray
    overlap_tp: BoolArray
    overlap_pp: BoolArray
    overlap_dp: BoolArray
    optimizer: IntArray = field(default_factory=lambda: np.full(1, NPU))
    expansion: IntArray = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    offloaded: IntArray = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    reshard: BoolArray = field(default_factory=lambda: np.ones(1, dtype=np.bool_))
    schedule: IntArray = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    replicate: IntArray = field(default_factory=lambda: np.ones(1, dtype=np.int64))
    overlap_ep: BoolArray = field(default_factory=lambda: np.zeros(1, dtype=np.bool_))
    ulysses: BoolArray = field(default_factory=lambda: np.zeros(1, dtype=np.bool_))

    def __len__(self) -> int:
        return max(len(cast("IntArray", getattr(self, one.name))) for one in fields(self))

    def microbatches(self, global_batch: int) -> FloatArray:
        """Return (n,) microbatches of a pipeline and step; not whole where the batch does not divide."""
        return np.asarray(global_batch / (self.dp * self.micro_batch))

    def scatters(self, global_batch: int) -> FloatArray:
        """Return (n,) how often a step scatters gradients: once, or where they are sharded with each microbatch.

        Of an interleaved pipeline as many microbatches as there are stages pass a virtual stage one after the other. It
        adds up their gradients first.
        """
        rounds = self.microbatches(global_batch) / self.per_stream
        return np.where(self.zero >= SHARDED_GRADIENTS, np.maximum(rounds, 1.0), 1.0)

    @property
    def per_stream(self) -> IntArray:
        """(n,) microbatches that pass weights while these are on the NPUs: one, or a round of an interleaved pipeline.

        A round has as many microbatches as there are stages, and passes a virtual stage before the next one comes.
        """
        return np.where(self.vp > 1, self.pp, 1)

    @property
    def gathers_again(self) -> BoolArray:
        """(n,) whether the backward pass gathers the weights of each microbatch again."""
        return np.asarray((self.zero == SHARDED_WEIGHTS) & self.reshard)

    @property
    def gathers_each(self) -> BoolArray:
        """(n,) whether weights are gathered with each microbatch: unless they stay whole in a pipeline for a step."""
        return np.asarray((self.zero == SHARDED_WEIGHTS) & (self.reshard | (self.pp == 1)))

    def tokens(self, sequence: int) -> FloatArray:
        """Return (n,) tokens of an NPU and microbatch."""
        return np.asarray(self.micro_batch * sequence / self.cp)

    def take(self, which: IntArray) -> Plans:
        """Return some of the plans, none or one of them several times; ``tp`` has as many values as there are plans."""
        return Plans(*(
            np.broadcast_to(cast("Any", getattr(self, one.name)), len(self.tp))[which] for one in fields(self)
        ))  # fmt: skip

    def select(self, which: IntArray | slice) -> Plans:
        """Return some of the plans, at least one; arrays of one value hold for all of them."""
        return Plans(*(
            array if len(array) == 1 else array[which]
            for array in (cast("Any", getattr(self, one.name)) for one in fields(self))
        ))  # fmt: skip


def keeps_inside(plans: Plans, anywhere: BoolArray) -> BoolArray:
    """Return (n,) whether the tensor parallel group must stay inside a scale-up domain.

    It must unless it may lie anywhere, and even then where its traffic runs alongside products, by loads and stores.
    """
    return np.asarray((plans.tp > 1) & (plans.overlap_tp | ~anywhere))


def context_inside(plans: Plans) -> BoolArray:
    """Return (n,) whether the context parallel group must stay inside a scale-up domain, as it exchanges heads."""
    return np.asarray(plans.ulysses & (plans.cp > 1))


def one_plan(**given: int | bool) -> Plans:
    """Return a single plan; what is not given is 1, and no option is on.

    >>> one_plan(tp=8, pp=4).tp.tolist()
    [8]
    """
    ones = dict.fromkeys((*DEGREES, "micro_batch"), 1)
    off = dict.fromkeys(("sequence_parallel", "overlap_tp", "overlap_pp", "overlap_dp"), False)
    values = {**ones, "zero": 0, "recompute": 0, **off, **given}
    return Plans(**{name: np.array([value]) for name, value in values.items()})
