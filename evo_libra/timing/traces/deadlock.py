"""What to say of traces that cannot go on."""

from __future__ import annotations

from collections.abc import Sequence

from evo_libra.errors import InputError
from evo_libra.timing.traces.program import Party, Program


def disagreement(program: Program, operations: Sequence[int]) -> InputError:
    """Return the error of members of a party that came to different collectives; the first two are told."""
    kinds = program.exchange[list(operations)]
    two = operations[0], operations[int((kinds != kinds[0]).argmax())]
    name = _name(program, program.parties[program.party[two[0]]])
    return InputError([
        program.mistake(at, f"runs {program.exchanges[program.exchange[at]]} where another NPU of {name} runs another")
        for at in two
    ])  # fmt: skip


def waiting_for_ever(program: Program, operations: Sequence[int]) -> InputError:
    """Return the error of traces that wait for each other.

    Parameters
    ----------
    program : of the traces.
    operations : collectives and receives that have begun and never end.
    """
    joined = {(program.party[at], program.role[at]) for at in operations}
    mistakes = []
    for at in operations:
        number = program.party[at]
        if number < 0:
            mistakes.append(program.mistake(at, f"waits for ever for a message of NPU {program.peer[at]}"))
            continue
        party, exchange = program.parties[number], program.exchanges[program.exchange[at]]
        seats = zip(party.members, party.seats, strict=True)
        missing = next(npu for npu, role in seats if (number, role) not in joined)
        message = f"waits for ever in {exchange} of {_name(program, party)}: NPU {missing} does not come to it"
        mistakes.append(program.mistake(at, message))
    return InputError(mistakes)


def _name(program: Program, party: Party) -> str:
    every = len(party.members) == len(program.npus) and not party.use.group
    return "all NPUs" if every else str(party)
