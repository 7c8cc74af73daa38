"""From the failures of a problem file to those of a problem."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from evo_libra.errors import InputError, unknown
from evo_libra.network.bill import parts_of
from evo_libra.network.blocks import Kit
from evo_libra.problem.file.mistakes import ProblemFile
from evo_libra.problem.needs import FAULTS, refusal
from evo_libra.problem.objectives import MEASURES

if TYPE_CHECKING:
    from evo_libra.problem.faults import Faults


class FaultsLoader:
    """Reads the failures of a problem file; `asked` are the names of its objectives and constraints by their key."""

    def __init__(self, file: ProblemFile, asked: Sequence[tuple[str, str]]) -> None:
        self.source, self.spec, self.fail = file.source, file.spec, file.fail
        self.asked = asked

    def faults(self, kits: Sequence[Kit]) -> Faults | None:
        """Return the failures; None where the file has none.

        An `InputError` says that something asks for failures that the file does not describe, that the catalogue has no
        parts, or that a rate is of nothing that the problem has.
        """
        given = self.spec.faults
        if given is None:
            needs = [(name, MEASURES[name].needs) for _, name in self.asked]
            refused = refusal(needs, {FAULTS: "needs the key 'faults': checkpoint_s and restart_s, at least"})
            if refused is not None:
                raise self.fail((self.asked[refused[0]][0],), refused[1])
            return None
        if not kits:
            raise self.fail(("faults",), "failures are of parts, and the catalogue has prices per bandwidth")
        from evo_libra.network.catalog.failures import FAILING  # noqa: PLC0415 - few problems have failures

        self._check_names(given, [*FAILING, *parts_of(kits)])
        choices = given.spare_choices if given.spares is not None else self._enough(given, kits)
        return given.model_copy(update={"spares": tuple(sorted(set(choices)))})

    def _enough(self, given: Faults, kits: Sequence[Kit]) -> tuple[int, ...]:
        """Return the spare NPUs that are enough, of servers and of each larger domain that is sold as one, a rack."""
        domains = {kit.domain_size for kit in kits if kit.domain_size is not None}
        units = {given.host_npus} | {size for size in domains if given.host_npus < size < self.spec.npus}
        return tuple(given.enough(self.spec.npus, unit) for unit in units)

    def _check_names(self, given: Faults, known: Sequence[str]) -> None:
        mistakes = [
            self.source.mistake(("faults", key, name), unknown("kind or part", name, known))
            for key, figures in (("per_year", given.per_year), ("repair_h", given.repair_h))
            for name in figures
            if name not in known
        ]
        if mistakes:
            raise InputError(mistakes)
