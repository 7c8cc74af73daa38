"""From the expansion memory of a problem file to what training and serving know of it."""

from __future__ import annotations

from itertools import product

from evo_libra.arrays import GIGA
from evo_libra.problem.file.expansion_spec import ExpansionSpec
from evo_libra.workload.training.expansion import NO_EXPANSION, Expansion


def expansions_of_file(spec: ExpansionSpec | None) -> tuple[Expansion, ...]:
    """Return the choices of expansion memory, the least first: none is one choice, whatever its bandwidth."""
    if spec is None:
        return ()
    capacities, bandwidths = (
        given if isinstance(given, tuple) else (given,) for given in (spec.capacity_GB, spec.bandwidth_GBps)
    )
    found = {
        Expansion(capacity * GIGA, bandwidth * GIGA / spec.shared_by) if capacity else NO_EXPANSION
        for capacity, bandwidth in product(capacities, bandwidths)
    }
    return tuple(sorted(found, key=lambda one: (one.capacity, one.bandwidth)))
