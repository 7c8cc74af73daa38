"""The part of a problem file's schema that is about training steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, TypeVar

from pydantic import AfterValidator, Field

from evo_libra.files.source import StrictModel
from evo_libra.network.catalog.hosts import HostSpec, NotNegative, Positive, Price, SourcedSpec
from evo_libra.problem.file.fields import PositiveInt
from evo_libra.workload.step.decoder import DecoderSpec
from evo_libra.workload.step.recommender import RecommenderSpec
from evo_libra.workload.step.stacks import STACKS

GroupOrder = tuple[Literal["tp", "cp", "dp", "pp"], ...]


def _every_group(order: GroupOrder) -> GroupOrder:
    if set(order) != {"tp", "cp", "dp", "pp"}:
        raise ValueError("each of tp, cp, dp and pp is needed once")
    return order


class DecoderGeneratorSpec(DecoderSpec):
    """Hyper-parameters of a language model that is trained as a whole."""

    kind: Literal["decoder"]
    source: str = Field("", description="where the figures come from")


class RecommenderGeneratorSpec(RecommenderSpec):
    """Hyper-parameters of a recommendation model that is trained as a whole."""

    kind: Literal["recommender"]
    source: str = Field("", description="where the figures come from")


if TYPE_CHECKING:
    StackName: TypeAlias = str
else:
    StackName = Literal[tuple(name for name, stack in STACKS.items() if stack.ring_efficiency is None)]


Item = TypeVar("Item")
Some = Annotated[tuple[Item, ...], Field(min_length=1)]
"""Values that the search may choose from."""

Order = Annotated[GroupOrder, Field(min_length=4, max_length=4), AfterValidator(_every_group)]
Precision = Literal["bf16", "fp8"]
Recompute = Literal["none", "selective", "full"]
Zero = Annotated[int, Field(ge=0, le=3)]
Place = Literal["npu", "host", "nvme", "network"]


class OverlapSpec(StrictModel):
    """Which communication of a training step runs beside compute."""

    tp: bool | Some[bool] = Field(default=False, description="that of tensor parallelism, product by product")
    pp: bool | Some[bool] = Field(default=True, description="that between the stages of an interleaved pipeline")
    dp: bool | Some[bool] = Field(default=True, description="gradients and weights of data parallelism")
    embedding: bool = Field(
        default=True, description="the exchange of embeddings of a recommendation model, beside its bottom MLP"
    )


class ServerSpec(StrictModel):
    """Servers of the network that hold weights and optimizer states."""

    host: str | HostSpec = Field(description="what each of them is: a name (see `evo-libra catalog`), or figures")
    count: PositiveInt = Field(1, description="how many there are; each has its part of the weights")
    link_GBps: Positive = Field(description="GB/s of each of them to the network in each direction")


class OptimizerSpec(StrictModel):
    """Where the optimizer and its states are."""

    placement: Place | Some[Place] = Field(
        "npu",
        description="npu; host: states in the memory of the hosts of `system`, whose processors update the weights "
        "(ZeRO-Offload); nvme: states and weights on the hosts' SSDs (ZeRO-Infinity); network: both in servers, for "
        "which switches add gradients up (LuWu). nvme and network need zero 3, network one microbatch of each replica",
    )
    server: ServerSpec | None = Field(None, description="servers of the network; network needs them")
    checkpoints: Literal["npu", "host"] = Field(
        "npu", description="where inputs of layers wait that full recomputation keeps: host takes the host's link"
    )


class TrainingSpec(StrictModel):
    """How a model is trained: what a training step is, and how the accelerators share it out."""

    sequence: PositiveInt | None = Field(
        None, description="tokens of a sequence; needed by language models, of no use to recommendation models"
    )
    global_batch: PositiveInt = Field(description="sequences or samples of a step, of all replicas together")
    micro_batch: PositiveInt | Literal["any"] | Some[PositiveInt] = Field(1, description="sequences of a microbatch")
    precision: Precision | Some[Precision] = Field(
        "bf16", description="of linear layers; the NPU needs kernel constants"
    )
    gradients: Literal["bf16", "fp32"] = Field("fp32", description="of accumulated gradients")
    recompute: Recompute | Some[Recompute] = Field(
        "none",
        description="what of the forward pass runs again in the backward pass; selective is attention, of which fused "
        "attention runs again what it needs in any case, so that there it is none",
    )
    sequence_parallel: Literal["auto"] | bool | Some[bool] = Field(
        "auto",
        description="whether element-wise work is split over the tensor parallel group, which takes a sequence that "
        "tp x cp divides; auto where there is such a group",
    )
    zero: Zero | Some[Zero] = Field(
        1, description="ZeRO's stage: states are sharded from 1 on, gradients from 2 on, weights with 3"
    )
    optimizer: OptimizerSpec = Field(OptimizerSpec(), description="where the optimizer and its states are")
    attention: Literal["fused", "unfused"] = Field("fused", description="fused attention never stores its scores")
    dropout: bool = Field(default=False, description="whether masks of dropout are stored")
    stack: StackName = Field("any", description="training software, whose measured factors count")
    overlap: OverlapSpec = Field(OverlapSpec(), description="which communication runs beside compute")
    balanced: bool = Field(
        default=False,
        description="whether the first and the last stage have a layer less, for embedding and head; vp then divides "
        "the layers of a stage with or without that layer",
    )
    uneven: bool = Field(
        default=False,
        description="whether pp need not divide the layers; the longest stage sets the pace, and vp divides its layers",
    )
    order: Order | Some[Order] = Field(
        ("tp", "cp", "dp", "pp"), description="how the process groups lie on the network, the innermost first"
    )
    tokens: Annotated[float, Field(gt=0, le=1e18)] | None = Field(
        None, description="tokens of the whole training, for its days and its energy"
    )


Capacity = Annotated[float, Field(ge=0, le=1e9)]


class ExpansionSpec(SourcedSpec):
    """Memory that NPUs have beside their own, for what does not fit there."""

    capacity_GB: Capacity | Some[Capacity] = Field(
        description="GB of each NPU; from a list the search chooses, and 0 is none"
    )
    bandwidth_GBps: Positive | Some[Positive] = Field(
        description="GB/s of reads and writes together; from a list the search chooses"
    )
    shared_by: PositiveInt = Field(
        1, description="NPUs that share the bandwidth: those of a node, or of a pool; each has its part of it"
    )
    price_usd: Price | None = Field(None, description="price of a GB, or its lowest and highest price")
    power_W: NotNegative | None = Field(None, description="power under load of a GB")


class MemorySpec(StrictModel):
    """How much of an NPU's memory plans may use, and what memory there is beside it."""

    reserve: Annotated[float, Field(ge=0, lt=1)] = Field(
        0.05, description="part of the capacity that stays free, for fragments and the framework"
    )
    expansion: ExpansionSpec | None = Field(None, description="memory beside that of the NPUs, by figures")
