"""The part of a problem file's schema that is about models of one's own and their training steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, TypeAlias

from pydantic import AfterValidator, Field

from evo_libra.files.fields import PositiveInt, Some
from evo_libra.files.source import StrictModel
from evo_libra.network.catalog.hosts import HostSpec, Positive, SourcedSpec
from evo_libra.workload.layers.generators import DlrmSpec, MoeSpec, TableSpec, TransformerSpec
from evo_libra.workload.models.decoder_spec import DecoderSpec
from evo_libra.workload.models.losses import LOSSES
from evo_libra.workload.models.recommender import RecommenderSpec
from evo_libra.workload.models.stacks import NEWEST, STACKS
from evo_libra.workload.plans.plans import PLACEMENTS, SCHEDULES
from evo_libra.workload.plans.recomputation import recompute_of
from evo_libra.workload.training.training_setup import EXPERT_PROCESSORS


class DecoderGeneratorSpec(DecoderSpec):
    """Hyper-parameters of a language model that is trained as a whole."""

    kind: Literal["decoder"]
    source: str = Field("", description="where the figures come from")


class RecommenderGeneratorSpec(RecommenderSpec):
    """Hyper-parameters of a recommendation model that is trained as a whole."""

    kind: Literal["recommender"]
    source: str = Field("", description="where the figures come from")


Generator = Annotated[
    TransformerSpec | MoeSpec | DlrmSpec | TableSpec | DecoderGeneratorSpec | RecommenderGeneratorSpec,
    Field(discriminator="kind"),
]


GroupOrder = tuple[Literal["tp", "cp", "dp", "pp"], ...]


def _every_group(order: GroupOrder) -> GroupOrder:
    if set(order) != {"tp", "cp", "dp", "pp"}:
        raise ValueError("each of tp, cp, dp and pp is needed once")
    return order


if TYPE_CHECKING:
    StackName: TypeAlias = str
    Schedule: TypeAlias = str
    Place: TypeAlias = str
    Loss: TypeAlias = str
else:
    StackName = Literal[NEWEST, *(name for name, stack in STACKS.items() if stack.ring_efficiency is None)]
    Place, Loss, Schedule = Literal[PLACEMENTS], Literal[tuple(LOSSES)], Literal[SCHEDULES]


def _recomputable(text: str) -> str:
    recompute_of(text)
    return text


Recompute = Annotated[str, AfterValidator(_recomputable)]
Order = Annotated[GroupOrder, Field(min_length=4, max_length=4), AfterValidator(_every_group)]
Precision = Literal["bf16", "fp8", "mxfp8", "nvfp4"]
Count = Annotated[int, Field(ge=0, le=10**5)]
OffloadedLayers = Annotated[int, Field(ge=0, le=10**5)] | Literal["all"]
Zero = Annotated[int, Field(ge=0, le=3)]


class OverlapSpec(StrictModel):
    """The communication of a training step that runs alongside compute."""

    tp: bool | Some[bool] = Field(default=False, description="overlap of tensor parallelism, product by product")
    pp: bool | Some[bool] = Field(default=True, description="overlap between the stages of an interleaved pipeline")
    dp: bool | Some[bool] = Field(default=True, description="gradients and weights of data parallelism")
    ep: bool | Some[bool] = Field(
        default=False,
        description="all-to-alls of experts, alongside the compute of another microbatch: without a pipeline, in an "
        "interleaved one or in dualpipe, with no full recomputation (Megatron's overlap_moe_expert_parallel_comm)",
    )
    ep_processors: Annotated[float, Field(ge=0, le=0.5)] = Field(
        EXPERT_PROCESSORS,
        description="share of the processors that these all-to-alls take from compute; 20 of 132 of an H800 are "
        "DeepSeek's and Megatron's",
    )
    tp_processors: Annotated[float, Field(ge=0, le=0.5)] | None = Field(
        None,
        description="share of the processors that collectives of tensor parallelism take from the products that they "
        "overlap with; the software gives it when left out",
    )
    embedding: bool = Field(
        default=True, description="the exchange of embeddings of a recommendation model, alongside its bottom MLP"
    )


class ServerSpec(StrictModel):
    """Servers of the network that hold weights and optimizer states, or I/O channels to a memory that does."""

    host: str | HostSpec | None = Field(
        None,
        description="what each of them is: a name (see `evo-libra catalog`), or figures; network needs it, io does not",
    )
    count: PositiveInt = Field(
        1, description="how many servers or channels there are; each has its part of the weights"
    )
    link_GBps: Positive = Field(description="GB/s of each of them to the network in each direction")


class SoftwareSpec(SourcedSpec):
    """Measured figures of software that runs collectives on NPUs and updates weights in hosts."""

    sourced: ClassVar[tuple[str, ...]] = (
        "beside_products", "processors", "exposed", "adam_Gweights", "ssd_update", "ssd_gradient_bytes"
    )  # fmt: skip
    beside_products: Annotated[float, Field(gt=0, le=1)] | None = Field(
        None, description="share of its bandwidth that data parallel traffic keeps while products run"
    )
    processors: Annotated[float, Field(ge=0, le=0.5)] | None = Field(
        None, description="share of an NPU's processors that this traffic takes from products meanwhile"
    )
    exposed: Annotated[float, Field(ge=0, le=1)] | None = Field(
        None, description="share of the time of this traffic that no product hides, in place of the stack's"
    )
    adam_Gweights: Positive | None = Field(
        None, description="1e9 weights that the processors of a host update per second, at most"
    )
    ssd_update: Literal["pipelined", "serial"] | None = Field(
        None, description="whether an update reads SSDs, computes and writes SSDs at a time, or one after the other"
    )
    ssd_gradient_bytes: Literal[0, 2, 4] | None = Field(
        None, description="of a gradient that waits on SSDs for the update; 0 where hosts hold it"
    )


class OptimizerSpec(StrictModel):
    """Place of the optimizer and its states."""

    placement: Place | Some[Place] = Field(
        "npu",
        description="npu; host: states in the memory of the hosts of `system`, whose processors update the weights "
        "(ZeRO-Offload); nvme: states and weights on the hosts' SSDs (ZeRO-Infinity); network: both in servers, for "
        "which switches add gradients up (LuWu); io: both in memory behind I/O channels at the edge of the network, "
        "which weights stream through for each pass, and gradients back (weight streaming). nvme, network and io need "
        "zero 3, network one microbatch of each replica",
    )
    server: ServerSpec | None = Field(
        None, description="servers of the network, or I/O channels; network and io need them"
    )
    moments: Literal["fp32", "bf16", "fp8"] = Field(
        "fp32",
        description="precision of the two moments of a weight on the NPUs, next to a copy of 32 bits: bf16 is "
        "DeepSeek-V3's; both are those of Megatron's precision-aware optimizer",
    )
    software: SoftwareSpec = Field(
        SoftwareSpec.model_validate({}),
        description="what software costs that runs collectives on NPUs and updates in hosts; figures need sources",
    )
    checkpoints: Literal["npu", "host"] = Field(
        "npu", description="where inputs of layers wait that full recomputation keeps: host takes the host's link"
    )


class BatchSpec(StrictModel):
    """A batch that may differ a little from the stated one."""

    about: PositiveInt = Field(description="sequences of a step")
    within: Annotated[float, Field(gt=0, le=0.25)] = Field(0.02, description="by which share it may differ")


class TrainingSpec(StrictModel):
    """Training of a model: the training step, and its division among accelerators."""

    sequence: PositiveInt | None = Field(
        None, description="tokens of a sequence; needed by language models, of no use to recommendation models"
    )
    global_batch: PositiveInt | BatchSpec = Field(
        description="sequences or samples of a step, of all replicas together; in a file that asks for an order also "
        "`{about: 2048, within: 0.02}` because not every number of NPUs divides a batch; times are then those of the "
        "tokens of the stated batch"
    )
    micro_batch: PositiveInt | Literal["any"] | Some[PositiveInt] = Field(1, description="sequences of a microbatch")
    precision: Precision | Some[Precision] = Field(
        "bf16", description="of linear layers; the NPU needs kernel constants, for nvfp4 those of fp4"
    )
    bf16_layers: tuple[Count, Count] | None = Field(
        None,
        description="layers at the start and at the end whose linear layers stay in bf16 where precision is another, "
        "as Megatron's num_layers_at_start_in_bf16 and num_layers_at_end_in_bf16; without the key none, and with nvfp4 "
        "the last 15 % by its authors",
    )
    head_precision: Literal["bf16", "fp8", "mxfp8"] = Field(
        "bf16", description="of the output head's product, which software leaves in bf16 unless told otherwise"
    )
    activation_input: Literal["bf16", "fp8"] = Field(
        "bf16",
        description="in which inputs of activation functions wait for the backward pass: bf16, or fp8 as in training "
        "DeepSeek-V3 and with Megatron's activation_func_fp8_input_store",
    )
    gradients: Literal["bf16", "fp32"] = Field("fp32", description="of accumulated gradients")
    recompute: Recompute | Some[Recompute] = Field(
        "none",
        description="what of the forward pass runs again in the backward pass: none, full, selective-op (PyTorch's: "
        "all but attention and every second product), or modules that a plus sign joins: layernorm, mlp, mlp_act (its "
        "activation), moe, moe_act, mla_up_proj, and core_attn or selective, which is none with fused attention",
    )
    sequence_parallel: Literal["auto"] | bool | Some[bool] = Field(
        "auto",
        description="whether element-wise work is split over the tensor parallel group, which takes a sequence that "
        "tp x cp divides; auto where there is such a group",
    )
    offload_layers: OffloadedLayers | Some[OffloadedLayers] = Field(
        0,
        description="layers of each stage, or all, whose activations wait in the memory of the hosts of `system`, as "
        "Megatron's cpu_offloading_num_layers says; they go and come over the host's link alongside the passes",
    )
    zero: Zero | Some[Zero] = Field(
        1,
        description="ZeRO's stage: states are sharded from 1 on, gradients from 2 on, which microbatches scatter, "
        "weights with 3",
    )
    replicate: PositiveInt | Some[PositiveInt] = Field(
        1,
        description="copies of the shards of zero (HSDP; torchtitan's dp_replicate): dp / replicate NPUs share out "
        "states or weights, the innermost ones, and gradients are summed across the copies; of dense models",
    )
    reshard: bool | Some[bool] = Field(
        default=True,
        description="with zero 3, whether weights are sharded again after the forward pass, and gathered for the "
        "backward one; otherwise they stay whole, in a pipeline for all microbatches of a step",
    )
    optimizer: OptimizerSpec = Field(OptimizerSpec(), description="where the optimizer and its states are")
    attention: Literal["fused", "unfused"] = Field("fused", description="fused attention never stores its scores")
    dropout: bool = Field(default=False, description="whether masks of dropout are stored")
    loss: Loss | None = Field(
        None,
        description="kind of loss, which decides the bytes of a logit: 14 unfused (PyTorch's cross-entropy), 8 "
        "vocabulary-parallel (Megatron's), 5.5 chunked, 4 fused in place, 0 fused with the head; the stack gives it, "
        "or vocabulary-parallel without a stack",
    )
    stack: StackName = Field(
        "newest",
        description="training software, whose measured figures of the NPU's generation count; newest is megatron-2025 "
        "where it has rows of the generation, else a mean of what was measured; any hides and computes as well as the "
        "plan allows",
    )
    overlap: OverlapSpec = Field(OverlapSpec(), description="which communication runs alongside compute")
    balanced: bool = Field(
        default=False,
        description="whether the first and the last stage have a layer less, for embedding and head; vp then divides "
        "the layers of a stage with or without that layer",
    )
    account_for: tuple[Literal["embedding", "loss"], ...] = Field(
        (),
        description="what counts as a layer where stages divide the layers, so one end has a layer less: "
        "embedding, loss (Megatron's account_for_..._in_pipeline_split); both are `balanced`",
    )
    uneven: bool = Field(
        default=False,
        description="whether pp need not divide the layers; the longest stage sets the pace, and vp divides its layers",
    )
    uneven_heads: bool = Field(
        default=False,
        description="whether a stated tp need not divide the heads, which are then cut evenly, as if each could be "
        "split: no NPU has more of them than another",
    )
    idle: Count = Field(
        0,
        description="NPUs that the step leaves unused, the last ones of a network of one dimension, such as 2 of 20 "
        "where tp 3, pp 2 and dp 3 take 18; of a single plan",
    )
    jitter: Annotated[float, Field(ge=0, le=0.1)] = Field(
        0.0,
        description="share of a step that each doubling of the NPUs adds from 8 on because the slowest one sets the "
        "pace; 0.004 was measured in fp8 on 64 to 2,048 H100 (DGX Cloud, 2025), nearly none in bf16",
    )
    tp_domain: Literal["scale-up", "any"] = Field(
        "scale-up",
        description="what holds a tensor parallel group: a scale-up domain, whose NPUs load and store from each other; "
        "any lets it leave the domain, and then nothing of its traffic overlaps",
    )
    ulysses: bool | Some[bool] = Field(
        default=False,
        description="whether a context parallel group exchanges heads of attention for tokens (DeepSpeed-Ulysses; "
        "Megatron's cp_comm_type a2a) in place of gathering keys and values; tp x cp then divides the heads of keys "
        "and values, and a scale-up domain holds the group",
    )
    schedule: Schedule | Some[Schedule] = Field(
        "1f1b",
        description="of the pipeline: 1f1b, interleaved where vp is more than 1; zb-h1 and zb-h2 (zero bubble, whose "
        "optimizer is checked after its update) fill bubbles with gradients of weights, zb-h2 with twice the waiting "
        "activations; dualpipe sends microbatches from both ends, and each rank has two stages",
    )
    order: Order | Some[Order] = Field(
        ("tp", "cp", "dp", "pp"), description="how the process groups lie on the network, the innermost first"
    )
    tokens: Annotated[float, Field(gt=0, le=1e18)] | None = Field(
        None, description="tokens of the whole training, for its days and its energy"
    )

    @property
    def stated_batch(self) -> int:
        """The batch that times are of."""
        return self.global_batch.about if isinstance(self.global_batch, BatchSpec) else self.global_batch
