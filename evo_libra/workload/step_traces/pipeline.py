"""Schedules of pipelines, step by step: 1F1B and its interleaved form (Narayanan et al. 2021, section 2.2)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PipelineStep:
    """A forward or backward pass of a microbatch through a part of the layers of a stage.

    Attributes
    ----------
    chunk : which of the parts; a stage of a pipeline that is not interleaved has one.
    """

    forward: bool
    chunk: int
    microbatch: int


def schedule(stage: int, stages: int, chunks: int, microbatches: int) -> list[PipelineStep]:
    """Return what a stage runs, in order.

    Forward passes fill the pipeline; then one forward and one backward pass alternate; then backward passes drain it.
    An interleaved pipeline runs groups of as many microbatches as there are stages through a chunk, then the next
    chunk.

    Raises
    ------
    ValueError : the microbatches of an interleaved pipeline are no multiple of its stages.
    """
    if chunks > 1 and microbatches % stages:
        raise ValueError(f"an interleaved pipeline of {stages} stages takes a multiple of {stages} microbatches")
    total = chunks * microbatches
    ahead = stages - stage - 1 if chunks == 1 else 2 * (stages - stage - 1) + (chunks - 1) * stages
    warm = min(total, ahead)
    steps = [_step(k, stages, chunks, forward=True) for k in range(warm)]
    for k in range(total - warm):
        steps += [_step(warm + k, stages, chunks, forward=True), _step(k, stages, chunks, forward=False)]
    return steps + [_step(k, stages, chunks, forward=False) for k in range(total - warm, total)]


def _step(k: int, stages: int, chunks: int, *, forward: bool) -> PipelineStep:
    group, within = divmod(k, stages * chunks) if chunks > 1 else (k, 0)
    chunk, microbatch = divmod(within, stages)
    microbatch = group * stages + microbatch if chunks > 1 else k
    return PipelineStep(forward, chunk if forward else chunks - 1 - chunk, microbatch)


@dataclass(frozen=True)
class Ends:
    """The stages that a pass gets its input from and sends its output to, None for none, and tags of the messages."""

    source: int | None
    source_tag: int
    target: int | None
    target_tag: int


def ends_of(stage: int, stages: int, chunks: int, step: PipelineStep) -> Ends:
    """Return where a pass gets its input from, and where its output goes."""
    place, last = step.chunk * stages + stage, stages * chunks - 1
    ahead = 1 if step.forward else -1
    source, target = place - ahead, place + ahead
    inside = range(last + 1)
    return Ends(
        source % stages if source in inside else None,
        _tag(step, chunks, source // stages),
        target % stages if target in inside else None,
        _tag(step, chunks, step.chunk),
    )


def _tag(step: PipelineStep, chunks: int, chunk: int) -> int:
    """Return the number of a message: of the chunk that sent it, the microbatch and the direction."""
    return 2 * (step.microbatch * chunks + chunk) + step.forward
