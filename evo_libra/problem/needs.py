"""Needs of objectives and constraints, and the sentence that refuses one whose need is missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

WATTS, TCO, FAULTS = "watts", "tco", "faults"
"""Needs of the power of the network and of failures, which only catalogues of parts know, and of `tco`."""

TRAINING, TOKENS, USERS = "training", "tokens", "users"
"""Needs of a model as a whole, trained or served; of tokens of every workload; and of a workload that is served."""

NO_TCO = "needs the key 'tco': years, usd_per_kWh and pue"
"""Reason, after a name, where `tco` is missing."""

NPU_WATTS, NPU_PRICE = "npu.watts", "npu.price"
"""Needs of the power and of the price of an NPU."""

ORDER = "order"
"""Need of products that are bought."""


def refusal(asked: Iterable[tuple[str, frozenset[str]]], lacks: Mapping[str, str]) -> tuple[int, str] | None:
    """Return the place of the first quantity that needs what a problem lacks, and a sentence; None where none does.

    Parameters
    ----------
    asked : the names of the quantities, with what each needs.
    lacks : of each need that is not met, what the sentence says after the name.

    >>> refusal([("time", frozenset()), ("power", frozenset({WATTS}))], {WATTS: "needs a catalogue of parts"})
    (1, 'power needs a catalogue of parts')
    """
    for place, (name, needs) in enumerate(asked):
        for need, sentence in lacks.items():
            if need in needs:
                return place, f"{name} {sentence}"
    return None
