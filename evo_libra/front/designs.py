"""Genes of the designs of a front, from which another search may start."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.errors import InputError
from evo_libra.front.front import Front
from evo_libra.problem.designs import genes_of
from evo_libra.problem.problem import Problem

_DESIGN = "design"


@dataclass(frozen=True)
class Known:
    """Designs of a front that a problem has, too.

    Attributes
    ----------
    genes : (g, k) of them.
    left_out : the others, in the notation: those outside the search space.
    """

    genes: FloatArray
    left_out: tuple[str, ...]


def front_genes(problem: Problem, front: Front) -> Known:
    """Return the genes of a front's designs, which may come from a search with other limits, prices or times.

    Parameters
    ----------
    problem : that is to be searched.
    front : designs in the notation, of a problem file.

    Raises
    ------
    InputError : the front has no designs in the notation, or none of them is in the search space.

    >>> from evo_libra import load_problem, search
    >>> earlier = search(load_problem("gpt3-4k"), evaluations=500)
    >>> front_genes(load_problem("gpt3-4k", ["fabric.max_dimensions=2"]), earlier).genes.shape[0]
    6
    """
    if _DESIGN not in front.frame.columns:
        raise InputError("the front has no column 'design': it is not that of a problem file")
    designs = front.frame[_DESIGN].to_list()
    if not designs:
        raise InputError("the front is empty: there is nothing to start from")
    try:
        return Known(genes_of(problem, problem.read(designs)), ())
    except InputError:
        pass  # One by one, to tell which.
    found, left_out, reason = [], [], ""
    for design in designs:
        try:
            found.append(genes_of(problem, problem.read(design)))
        except InputError as error:
            left_out.append(design)
            reason = str(error)
    if not found:
        raise InputError(f"no design of the front is in the search space of '{problem.name}': {reason}")
    return Known(np.concatenate(found, axis=1), tuple(left_out))
