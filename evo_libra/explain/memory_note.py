"""A sentence on a plan that fits its accelerator by the stated memory, and not at the upper end of its band."""

from __future__ import annotations

from evo_libra.arrays import GIGA
from evo_libra.problem.bands import bands_of
from evo_libra.problem.class_bands import MEMORY_COLUMN
from evo_libra.problem.figures import memory
from evo_libra.problem.problem import Problem


def memory_note(problem: Problem, design: str) -> tuple[str, ...]:
    """Return that the memory of a design may exceed that of its accelerator; nothing where it may not.

    Parameters
    ----------
    design : in the notation.
    """
    population = problem.read([design])
    capacity = problem.sources.npu.figures(population.technology)[0]
    band = bands_of(problem, population)[0].get(MEMORY_COLUMN)
    if capacity is None or band is None:
        return ()
    stated, limit = float(memory(problem.measure(population))[0]), float(capacity[0])
    high = band.around(stated)[1]
    if high <= limit:
        return ()
    size = f"{stated / GIGA:.4g} of {limit / GIGA:.4g} GB, and up to {high / GIGA:.4g} GB within its band"
    return (f"Its plan takes {size}: it may not fit.",)
