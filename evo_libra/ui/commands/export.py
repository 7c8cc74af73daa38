"""A design as a file of another program."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from evo_libra.errors import InputError
from evo_libra.ui.commands.addresses import Addressed, DesignAddress, addressed, is_address, written
from evo_libra.ui.commands.shared import DesignId, Json, MoreAssignments, MovedProblem, TrustCode, app
from evo_libra.ui.output import print_json

if TYPE_CHECKING:
    from evo_libra.exchange.writer import Written


@app.command
def export(  # noqa: PLR0913 - options of two kinds of export
    result: DesignAddress | None = None,
    path: Path | None = None,
    *,
    to: Annotated[str | None, Parameter(name="--to")] = None,
    workload: str | None = None,
    astra_sim: Path | None = None,
    number: DesignId = None,
    design: str | None = None,
    time: Literal["astra", "themis"] | None = None,
    problem: MovedProblem = None,
    assignments: MoreAssignments = (),
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> int:
    """Write a design for other programs: its plan, bill or network; or for ASTRA-sim, with its predicted time.

    Parameters
    ----------
    path:
        With --to, the file to write; without it, text is printed. With --astra-sim, the design's id after RESULT alone.
    to:
        What to write, such as megatron-arguments, deepspeed-json, bill-csv, bill-excel, graphviz, netbox-devices,
        netbox-interfaces or netbox-cables.
    workload:
        With --to, the workload whose plan is written, where several are trained.
    astra_sim:
        Folder to write for ASTRA-sim; new or empty.
    number:
        The design's id in the front, with RESULT alone.
    design:
        A design of --problem in the notation, instead of one of a result.
    time:
        With --astra-sim, the time model to export, if the problem has LIBRA's time.
    """
    if (to is None) == (astra_sim is None):
        raise InputError("what to write is needed: --to and a format, or --astra-sim and a folder")
    if astra_sim is not None:
        from evo_libra.ui.commands.astra_sim import export_run

        if workload is not None:
            raise InputError("--workload belongs to --to; ASTRA-sim gets all workloads")
        if path is not None and not str(path).isdecimal():
            raise InputError(f"found {path}; the folder for ASTRA-sim is the value of --astra-sim")
        chosen = number if path is None else int(str(path))
        found = _design(result, chosen, design, problem, trust_code=trust_code)
        export_run(found, astra_sim, time, assignments, as_json=as_json)
        return 0
    if time is not None or assignments:
        raise InputError("--time and --set belong to --astra-sim; --to writes a design as it is")
    found = _design(result, number, design, problem, trust_code=trust_code)
    _export_to(found, to or "", path, workload, as_json=as_json)
    return 0


def _design(
    result: str | None, number: int | None, design: str | None, problem: str | None, *, trust_code: bool
) -> Addressed:  # fmt: skip
    """Return the design of an address, or of a problem that options complete."""
    from evo_libra.experiment.run.origin import origin_of

    if result is not None and design is None and is_address(result) == (number is None):
        address = result if number is None else f"{result}#{number}"
        return addressed(address, problem=problem, trust_code=trust_code)
    if result is None and number is None and design is not None and problem is not None:
        return written(design, origin_of(problem, []))
    raise InputError("a design is needed: RESULT#ID, or --design and --problem")


def _export_to(found: Addressed, name: str, path: Path | None, workload: str | None, *, as_json: bool) -> None:
    from evo_libra.exchange.writer import exported
    from evo_libra.exchange.writer_registry import writer_named

    writer = writer_named(name)
    if writer.binary and path is None:
        raise InputError(f"{name} is no text; give the file to write after the design")
    made = writer.write(exported(found.problem, found.design, workload))
    if path is not None:
        _save(made, path)
    if as_json:
        content = {} if path is not None else {"content": made.content}
        print_json({
            "design": found.design, "format": name, "path": None if path is None else str(path),
            "not_said": list(made.unsaid), **content,
        })  # fmt: skip
        return
    if path is None:
        print(made.content, end="")
    else:
        print(f"wrote {path}")
    for sentence in made.unsaid:
        print(f"not said: {sentence}", file=sys.stderr if path is None else sys.stdout)


def _save(made: Written, path: Path) -> None:
    content = made.content if isinstance(made.content, bytes) else made.content.encode()
    try:
        path.write_bytes(content)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {(error.strerror or '').lower()}") from None
