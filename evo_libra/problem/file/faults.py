"""From the failures of a problem file to those of a problem."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from evo_libra.errors import InputError, unknown
from evo_libra.network.bill import parts_of
from evo_libra.network.blocks import Kit
from evo_libra.problem.constraints import BANDWIDTH
from evo_libra.problem.file.mistakes import ProblemFile
from evo_libra.problem.objectives import MEASURES

if TYPE_CHECKING:
    from evo_libra.problem.faults import Faults


class FaultsLoader:
    """Reads the failures of a problem file; `asked` are the names of its objectives and constraints by their key."""

    def __init__(self, file: ProblemFile, asked: Sequence[tuple[str, str]]) -> None:
        self.source, self.spec, self.fail = file.source, file.spec, file.fail
        self.asked = [(key, name) for key, name in asked if name != BANDWIDTH and MEASURES[name].failing]

    def faults(self, kits: Sequence[Kit]) -> Faults | None:
        """Return the failures; None where the file has none.

        An `InputError` says that something asks for failures that the file does not describe, that the catalogue has no
        parts, or that a rate is of nothing that the problem has.
        """
        given = self.spec.faults
        if given is None:
            if self.asked:
                key, name = self.asked[0]
                raise self.fail((key,), f"{name} needs the key 'faults': checkpoint_s and restart_s, at least")
            return None
        if not kits:
            raise self.fail(("faults",), "failures are of parts, and the catalogue has prices per bandwidth")
        from evo_libra.network.catalog.failures import FAILING  # noqa: PLC0415 - few problems have failures

        self._check_names(given, [*FAILING, *parts_of(kits)])
        return given.model_copy(update={"spares": tuple(sorted(set(given.spare_choices)))})

    def _check_names(self, given: Faults, known: Sequence[str]) -> None:
        mistakes = [
            self.source.mistake(("faults", key, name), unknown("kind or part", name, known))
            for key, figures in (("per_year", given.per_year), ("repair_h", given.repair_h))
            for name in figures
            if name not in known
        ]
        if mistakes:
            raise InputError(mistakes)
