"""The part of a problem file's schema that is about serving."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from pydantic import Field

from evo_libra.files.fields import Degree, NotNegative, PositiveInt, Some
from evo_libra.files.source import StrictModel
from evo_libra.workload.serving.stacks import ATTENTION, SERVING_STACKS

if TYPE_CHECKING:
    ServingStackName: TypeAlias = str
    AttentionName: TypeAlias = str
else:
    ServingStackName = Literal[tuple(SERVING_STACKS)]
    AttentionName = Literal[tuple(ATTENTION)]

Weights = Literal["bf16", "fp8", "int8", "int4", "mxfp8", "nvfp4", "mxfp4"]
Cache = Literal["bf16", "fp8", "int8", "nvfp4"]
Part = Annotated[float, Field(ge=0, lt=1)]


class ServerSpec(StrictModel):
    """A server, in which collectives have a shorter way, as among the sockets of CPUs."""

    npus: PositiveInt = Field(description="adjacent NPUs of a server; a power of 2")
    collective_us: NotNegative = Field(
        description="time of a collective among two NPUs of a server beyond its bytes; among t log2 t times that"
    )


class PrefillParallelismSpec(StrictModel):
    """Degrees of the replicas that only process prompts; one that is left out is as in the other replicas."""

    tp: Degree | None = Field(None, description="NPUs of a tensor parallel group; `any` for all that divide")
    pp: Degree | None = Field(None, description="stages of a pipeline")
    ep: Degree | None = Field(None, description="NPUs of an expert parallel group")


class ServingSpec(StrictModel):
    """Users and requests of serving: the size of a request, requests per replica at a time, and precisions."""

    input: PositiveInt | None = Field(None, description="tokens of a request; needed unless `requests` is a file")
    output: Annotated[int, Field(ge=2, le=2**31)] | None = Field(
        None, description="tokens of its answer; needed unless `requests` is a file"
    )
    requests: str = Field(
        "fixed",
        description="fixed: all requests are as long; exponential: lengths vary about these means; or the path of a "
        ".csv file with the columns input and output, a row for each of as many likely requests",
    )
    concurrency: PositiveInt | Some[PositiveInt] = Field(
        description="requests that a replica answers at a time; as one ends, the next begins"
    )
    weights: Weights | Some[Weights] = Field(
        "bf16",
        description="precision of the weights; products of int8 and int4 weights run in bf16, those of nvfp4 in fp4, "
        "of fp8, mxfp8 and mxfp4 in the same",
    )
    expert_weights: Weights | None = Field(
        None,
        description="precision of the weights of experts, where it differs from the rest; products run in 16 bits "
        "on an NPU without products of that precision",
    )
    imbalance: Annotated[float, Field(ge=1, le=64)] | None = Field(
        None,
        description="time of the FLOP of the busiest NPU of an expert parallel group over the mean; left out, 2 as "
        "measured with skewed batches, and 1.25 with redundant experts",
    )
    redundant_experts: Annotated[int, Field(ge=0, le=4096)] = Field(
        0, description="copies of busy experts; with them, `ep` divides the experts"
    )
    dispatch: Literal["arrival", "balanced"] = Field(
        "arrival",
        description="NPUs that share out experts march in step: prompts go to them as they come, or to all at a time, "
        "so none waits for the prompt of another",
    )
    overlap_batches: bool = Field(
        default=False,
        description="whether replicas that only process prompts send a batch to its experts while they compute another",
    )
    prompt_tokens: PositiveInt = Field(8192, description="tokens of prompts in a pass, at most, unless one has more")
    kv_cache: Cache | Some[Cache] = Field(
        "bf16", description="precision of the cache of keys and values; int8 has a scale per token and head"
    )
    prefill: Part | Some[Part] = Field(
        0.0,
        description="part of the NPUs whose replicas only process prompts, and send the cache to the others; 0 where "
        "every replica does both",
    )
    prefill_parallelism: PrefillParallelismSpec | None = Field(
        None,
        description="degrees of the replicas that only process prompts; left out, they are those of `parallelism`",
    )
    attention: AttentionName = Field(
        "flash",
        description="how attention over a prompt is split; `slim`, as xFasterTransformer does on CPUs, is 3.84 times "
        "as fast there as `flash`, which the constants of an NPU are of",
    )
    broadcast: Literal["ids", "embeddings"] | None = Field(
        None,
        description="what one NPU sends to all others of its tensor parallel group before each pass: ids of tokens, or "
        "their embeddings; not counted when left out",
    )
    sampling: Literal["top-k", "logits"] | None = Field(
        None,
        description="what each NPU of a tensor parallel group sends for the choice of the next token: its largest "
        "logits, or all that it has; not counted when left out",
    )
    top_k: PositiveInt | None = Field(
        None, description="logits of a sequence that an NPU sends with `sampling: top-k`; 50 when left out"
    )
    stack: ServingStackName = Field(
        "any",
        description="serving software, whose measured times count: vllm and trtllm of 2025, sglang of 2026 with its "
        "server, nccl for software of 2023, or any for what those of 2024 and later share",
    )
    collective_us: NotNegative | None = Field(
        None,
        description="time of a collective among two NPUs beyond its bytes, whatever their links, in place of what was "
        "measured on these; among t NPUs log2 t times that",
    )
    server: ServerSpec | None = Field(
        None, description="collectives inside a server take another time beyond their bytes; messages do not"
    )
