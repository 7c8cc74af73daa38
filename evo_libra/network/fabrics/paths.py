"""Path lengths: links between two NPUs, their mean and their maximum, with all switches and after one has failed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evo_libra.errors import InputError
from evo_libra.network.fabrics.layered import LayeredFabric
from evo_libra.network.fabrics.reach import lengths_of, unreached
from evo_libra.network.fabrics.routing import routes
from evo_libra.network.fabrics.seen import Question, Seen, seen, seen_failing


@dataclass(frozen=True)
class PathLengths:
    """Links between two NPUs, over all ordered pairs.

    Attributes
    ----------
    mean, diameter : links; infinite where an NPU has no path to another.
    forwarding : NPUs that forward.
    method : ``digits`` or ``graph``; both are exact.
    """

    mean: float
    diameter: float
    forwarding: str
    method: str


def path_lengths(fabric: LayeredFabric, forwarding: str, method: str = "") -> PathLengths:
    """Return the path lengths; an InputError names two NPUs without a path, and the forwarding that joins them.

    Parameters
    ----------
    fabric : the fabric.
    forwarding : one of `FORWARDING`.
    method : as in `Question`.
    """
    view = seen(fabric, Question(method=method))
    mean, diameter = _lengths(fabric, view, forwarding)
    if np.isinf(diameter):
        raise InputError(_unreached(view, forwarding))
    return PathLengths(mean, diameter, forwarding, view.method)


def one_switch_failed(fabric: LayeredFabric, forwarding: str, method: str = "") -> PathLengths:
    """Return the path lengths after one switch has failed: the mean over all switches, and the maximum.

    Both are infinite where the failure of a switch leaves an NPU without a path.
    """
    total, diameter, methods = 0.0, 0.0, set()
    for view in seen_failing(fabric, Question(method=method)):
        mean, longest = _lengths(fabric, view, forwarding)
        total, diameter = total + view.weight * mean, max(diameter, longest)
        methods.add(view.method)
    return PathLengths(total / sum(fabric.layers[1:]), diameter, forwarding, *methods)


def _lengths(fabric: LayeredFabric, view: Seen, forwarding: str) -> tuple[float, float]:
    """Return the mean and the maximum over all pairs of NPUs."""
    total, diameter = 0.0, 0.0
    for root in view.distance_roots():
        lengths = lengths_of(root, routes(root, view.orbits, forwarding))
        total += root.weight * float(root.size[: root.npus] @ lengths)
        diameter = max(diameter, float(lengths.max()))
    return total / _pairs(fabric), diameter


def _unreached(view: Seen, forwarding: str) -> str:
    """Return the sentence about the first two NPUs without a path."""
    found = ((root, lengths_of(root, routes(root, view.orbits, forwarding))) for root in view.distance_roots())
    root, lengths = next((root, lengths) for root, lengths in found if np.isinf(lengths).any())
    return unreached(view, root, lengths, forwarding)


def _pairs(fabric: LayeredFabric) -> float:
    return float(fabric.npus) * max(fabric.npus - 1, 1)
