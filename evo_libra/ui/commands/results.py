"""Runs of a folder of results: listed, looked at, done again."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from evo_libra.errors import counted
from evo_libra.ui.commands.named_runs import DEFAULT, looked_at, run_folder
from evo_libra.ui.commands.shared import Json, Order, Out, TrustCode, app, check_least
from evo_libra.ui.output import new_console
from evo_libra.ui.texts import duration, print_json

if TYPE_CHECKING:
    from evo_libra.experiment.run.record import RunRecord
    from evo_libra.experiment.store.folder import RunFolder


_FAILED = 1
_WIDE = 110
_NOTES = 10
_UNBOUNDED = 10_000
_FEW = ("run", "status", "evaluations", "front", "time")
_ALL = (*_FEW, "hypervolume", "name")


@app.command(name="results")
def list_runs(
    *query: str, results: Out = DEFAULT, sort: Order = "-updated", rows: int = 40, as_json: Json = False
) -> int:
    """List runs: what they are, how far they are, what they found.

    Parameters
    ----------
    query:
        Words that a run fits, such as status:failed seed:3 engine:nsga* "evaluations>1000" 4k; -word after -- negates.
    results:
        Folder of results.
    sort:
        A field, such as hypervolume; -hypervolume begins with the largest.
    rows:
        Rows of the table, at most. JSON has all runs.
    as_json:
        Print one JSON object and nothing else.
    """
    from evo_libra.experiment.results.catalogue import Catalogue

    check_least("rows", rows)
    catalogue = Catalogue.open(looked_at(results))
    runs, notes = catalogue.runs(" ".join(query), sort), catalogue.notes()
    catalogue.close()
    if as_json:
        print_json({"runs": [run.row() for run in runs], "notes": list(notes)})
        return 0
    _show_runs(runs, rows)
    for note in notes[:_NOTES]:
        print(f"evo-libra: {note}", file=sys.stderr)
    if len(notes) > _NOTES:
        print(f"evo-libra: ... and {len(notes) - _NOTES:,} more; --json has all", file=sys.stderr)
    return 0


@app.command
def show(run: str, *, results: Out = DEFAULT, as_json: Json = False) -> int:
    """Show what a run came from: problem, seed, versions, git state, machine, times.

    Parameters
    ----------
    run:
        Folder of a run, or one with a single run in it; or a part of its name that no other has.
    results:
        Folder of results.
    as_json:
        Print one JSON object and nothing else.
    """
    from rich.text import Text

    from evo_libra.experiment.store.folder import RunFolder, damaged_files

    folder = RunFolder(run_folder(run, results))
    damaged = damaged_files(folder)
    info, manifest = _found(folder, damaged)
    if as_json:
        print_json({"run": info.row(), "manifest": manifest, "damaged": list(damaged), "reasons": damaged})
    else:
        for label, value in _facts(info, manifest, damaged):
            new_console().print(Text(f"{label:<14}{value}"), soft_wrap=True)
    return _FAILED if damaged else 0


@app.command
def reproduce(run: str, *, results: Out = DEFAULT, trust_code: TrustCode = False, as_json: Json = False) -> int:
    """Repeat a run and compare the fronts; exit code 1 if they differ.

    Parameters
    ----------
    run:
        Folder of a run, or one with a single run in it; or a part of its name that no other has.
    results:
        Folder of results.
    trust_code:
        Run the code of a problem or an engine that the run names as module:object.
    as_json:
        Print one JSON object and nothing else.
    """
    from rich.status import Status

    from evo_libra.experiment.results.reproduction import reproduce as reproduced
    from evo_libra.experiment.store.folder import RunFolder

    folder = RunFolder(run_folder(run, results))
    console = new_console(stderr=True)
    with Status("", console=console) as status:
        spec, found = reproduced(
            folder,
            lambda snapshot: status.update(counted(snapshot.evaluations, "evaluation")),
            trust_code=trust_code,
        )
    if as_json:
        print_json({"run": spec.id, **asdict(found)})
    else:
        if found.identical:
            print(f"identical: {counted(found.now, 'design')}, byte for byte")
        else:
            by = "" if found.difference is None else f"; objectives differ by up to {found.difference:.2g}"
            print(f"different: {counted(found.before, 'design')} then, {found.now:,} now{by}")
        for key, (then, now) in found.changed.items():
            print(f"  {key}: {then} then, {now} now")
    return 0 if found.identical else _FAILED


def _show_runs(runs: Sequence[RunRecord], rows: int) -> None:
    from rich.table import Table
    from rich.text import Text

    from evo_libra.experiment.run.record import counts

    console = new_console()
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console = new_console(width=_UNBOUNDED)  # A pipe has no width: whatever reads it gets whole lines.
    columns = _ALL if console.width >= _WIDE else _FEW
    table = Table()
    for column in columns:
        left = column in ("run", "status", "name")
        folds = column in ("run", "name")  # an id that is cut is no use
        table.add_column(column, justify="left" if left else "right", no_wrap=not folds, overflow="fold")
    for run in runs[:rows]:
        cells = _cells(run)
        table.add_row(*(Text(cells[column]) for column in columns))
    console.print(table)
    found = ", ".join(f"{count:,} {status}" for status, count in counts(runs).items()) or "no runs"
    more = f"; {rows} shown, --rows shows more" if len(runs) > rows else ""
    print(f"{found}{more}")


def _cells(run: RunRecord) -> dict[str, str]:
    whole = run.status in ("done", "stale")
    if run.status == "damaged":  # whose figures are not known
        return {**dict.fromkeys(_ALL, ""), "run": run.id, "status": run.status, "name": run.name}
    return {
        "run": run.id,
        "status": run.status,
        "evaluations": f"{run.evaluations:,}" if whole else f"{run.evaluations:,}/{run.budget:,}",
        "front": f"{run.front_size:,}",
        "hypervolume": "" if run.hypervolume is None else f"{run.hypervolume:.4f}",
        "time": duration(run.wall_s),
        "name": run.name,
    }


def _facts(run: RunRecord, manifest: Mapping[str, Any], damaged: Mapping[str, str]) -> list[tuple[str, str]]:
    from evo_libra.experiment.run.record import ending_text

    git, source = manifest.get("git") or {}, manifest.get("source", {})
    state = "" if not git else git["commit"] + ("" if git["clean"] else ", with changes that were not committed")
    changes = [f"  {assignment}" for assignment in source.get("set", [])]
    volume = "" if run.hypervolume is None else f", hypervolume {run.hypervolume:.6g}"
    islands = f", {run.islands} islands" if run.islands > 1 else ""
    told = f", {words}" if (words := ending_text(run.ended, run.restarts)) else ""
    facts = [
        ("run", str(run.folder)),
        ("status", _state(run, damaged)),
        *(("", reason) for reason in damaged.values()),
        ("experiment", f"{run.experiment} {run.name}".strip()),
        ("problem", run.problem + (f" ({source['problem']})" if "problem" in source else "")),
        *(("", change) for change in changes),
        *((
            ("engine", f"{run.engine}, population {run.population:,}, seed {run.seed}{islands}"),
            ("evaluations", f"{run.evaluations:,} of {run.budget:,}{told}"),
            ("front", f"{counted(run.front_size, 'design')}{volume}"),
        ) if run.engine else ()),
        ("started", manifest.get("started", "")),
        ("updated", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(run.updated))),
        ("time", duration(run.wall_s) if run.engine else ""),
        ("hash", run.hash),
        ("program", f"{manifest.get('program', '')}"),
        ("git", state),
        ("machine", ", ".join(str(value) for value in manifest.get("machine", {}).values())),
        ("versions", ", ".join(f"{name} {version}" for name, version in manifest.get("versions", {}).items())),
        ("command", " ".join(manifest.get("command", []))),
    ]  # fmt: skip
    return [(label, value) for label, value in facts if value]


def _found(folder: RunFolder, damaged: Mapping[str, str]) -> tuple[RunRecord, dict[str, Any]]:
    """Return a run and its manifest, which is empty for one that has not got so far, or whose manifest is damaged."""
    from evo_libra.experiment.results.catalogue import Catalogue
    from evo_libra.experiment.store.folder import MANIFEST, read_file
    from evo_libra.experiment.store.records import read_run

    path = folder.path.resolve()
    place, run_id = path.parents[1], f"{path.parent.name}/{path.name}"
    manifest = {} if MANIFEST in damaged else read_file(folder.path, MANIFEST) or {}
    run = read_run(place, run_id)
    if run is None:
        catalogue = Catalogue.open(place)
        run = catalogue.find(run_id)
        catalogue.close()
    state = replace(run, status="damaged", error=next(iter(damaged.values()))) if damaged else run
    return replace(state, location=str(folder.path)), manifest


def _state(run: RunRecord, damaged: Iterable[str]) -> str:
    if run.status == "damaged":
        return f"damaged: {', '.join(damaged)}; evo-libra run does the run again"
    return run.status + (f": {run.error}" if run.error else "") + (f" by {run.worker}" if run.worker else "")
