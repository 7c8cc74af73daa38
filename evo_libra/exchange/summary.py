"""A problem that was imported, in sentences: the model, its vocabulary, a step, and the server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evo_libra.exchange.gpu_node import GpuNode
from evo_libra.workload.models.decoder import Decoder, decoder_of
from evo_libra.workload.models.decoder_spec import DecoderSpec

_BILLION = 1e9
_MOST = 8
"""GPUs of a server that are drawn one by one."""


def summary_of(
    generator: Mapping[str, Any],
    training: Mapping[str, Any],
    npus: object,
    sources: Sequence[str],
    *,
    node: GpuNode | None = None,
) -> Iterator[str]:
    """Yield what was made: weights, layers by kind, vocabulary, tokens of a step, and the server as a drawing.

    Parameters
    ----------
    npus : how many there are, as the problem states it.
    sources : files that state the vocabulary; none where it is assumed.
    node : the server that a file describes.
    """
    model = decoder_of("imported", DecoderSpec.model_validate({**generator, "source": "imported"}))
    total, active = model.parameters / _BILLION, model.active_parameters / _BILLION
    yield f"model: {total:,.2f} B weights, {active:,.2f} B of them active for a token, embeddings included"
    yield f"layers: {_layers(model)}"
    yield f"vocabulary: {model.vocabulary:,}, {'from ' + ', '.join(sources) if sources else 'which is assumed'}"
    if not sources:
        ends = model.hidden * (1 if model.tied else 2)
        share = 100 * ends * model.vocabulary / model.parameters
        yield f"vocabulary: {share:.2g} % of the weights follow from it"
    batch, sequence = training["global_batch"], training["sequence"]
    found = batch["about"] if isinstance(batch, Mapping) else batch
    yield f"step: {found:,} sequences of {sequence:,} tokens, {found * sequence:,} tokens, on {_count(npus)} NPUs"
    if node is not None:
        yield from drawing(node)


def _layers(model: Decoder) -> str:
    kinds = [f"{count} of {text}" for text, count in model.stack.texts().items()]
    return ", ".join(kinds) + (f", and {model.predictors} that predict further tokens" if model.predictors else "")


def _count(npus: object) -> str:
    return f"about {npus['about']:,}" if isinstance(npus, Mapping) else f"{npus:,}"


def drawing(node: GpuNode) -> Iterator[str]:
    """Yield a server as lines of text: its GPUs, the links between them, and its interfaces.

    >>> list(drawing(GpuNode(2, {}, 18, 90, (50e9,))))
    ['server: [GPU0]-18-[switch]', 'server: [GPU1]-18-[switch]', 'server: 1 interface of 400 Gb/s for 2 GPUs']
    """
    for gpu in range(min(node.gpus, _MOST)):
        ends = [f"-{count}-[GPU{other}]" for (one, other), count in sorted(node.peers.items()) if one == gpu]
        yield f"server: [GPU{gpu}]" + (f"-{node.switched}-[switch]" if node.switched else " ".join(ends))
    if node.gpus > _MOST:
        yield f"server: and {node.gpus - _MOST} GPUs more"
    for rate in sorted({rate for rate in node.nics if rate is not None}, reverse=True):
        count = node.nics.count(rate)
        plural = "s" * (count > 1)
        yield f"server: {count} interface{plural} of {rate * 8 / _BILLION:g} Gb/s for {node.gpus} GPUs"
