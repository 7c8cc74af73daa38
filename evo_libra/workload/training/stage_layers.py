"""Which layers each stage of a pipeline has, and each of its virtual stages."""

from __future__ import annotations

from collections.abc import Iterator

from evo_libra.workload.training.training_setup import Setup


def layers_of_stages(setup: Setup, stages: int, chunks: int) -> list[list[range]]:
    """Return the layers of each virtual stage of each stage.

    Microbatches pass the first virtual stages of all stages, then the second ones and so on. Where stages are balanced,
    embedding and head take the place of a layer. Of stages that are not equal, those with embedding or head are the
    longer ones if stages are balanced, so that no stage has more layers than the longest one of the formula; otherwise
    the first ones are.
    """
    ends = int(setup.balanced)
    slots = setup.decoder.layers + 2 * ends
    sizes = [list(_shares(size, chunks, range(chunks))) for size in _shares(slots, stages, _longer(stages, ends))]
    found: list[list[range]] = [[] for _ in range(stages)]
    start = -ends
    for chunk in range(chunks):
        for stage in range(stages):
            stop = start + sizes[stage][chunk]
            found[stage].append(range(max(start, 0), min(stop, setup.decoder.layers)))
            start = stop
    # Layers that predict further tokens follow the last one.
    last, layers = found[-1][-1], setup.decoder.layers
    found[-1][-1] = range(last.start if last else layers, layers + setup.decoder.predictors)
    return found


def _longer(stages: int, ends: int) -> list[int]:
    """Return the stages, those first that are to be longer."""
    return [0, *range(stages - 1, 0, -1)] if ends else list(range(stages))


def _shares(total: int, parts: int, first: range | list[int]) -> Iterator[int]:
    """Yield the sizes of some parts of a total; what is left over goes to the first ones in some order."""
    longer = set(first[: total % parts])
    for part in range(parts):
        yield total // parts + (part in longer)
