"""What a problem says of designs, checked: the axes of a search are logarithmic."""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.errors import InputError
from evo_libra.problem.protocol import Evaluation, SearchProblem


def evaluate_checked(problem: SearchProblem, genes: FloatArray) -> Evaluation:
    """Return the objectives and violations of (g, n) genes.

    Raises
    ------
    InputError : an objective of a design is not above 0.
    """
    found = problem.evaluate_genes(genes)
    for objective, values in zip(problem.objectives, found.objectives, strict=True):
        low = np.min(values, initial=np.inf)
        if not low > 0:
            raise InputError(
                f"the {objective.label} of a design of '{problem.name}' is {low / objective.scale:g}; objectives must "
                "be above 0"
            )
    return found
