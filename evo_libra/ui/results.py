"""The commands that look at what was run: results, show, reproduce."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from rich.status import Status
from rich.table import Table
from rich.text import Text

from evo_libra.errors import InputError, counted
from evo_libra.experiment.catalogue import Catalogue
from evo_libra.experiment.record import RunInfo, counts, read_run
from evo_libra.experiment.store import CHECKPOINT, MANIFEST, RunFolder
from evo_libra.experiment.words import course
from evo_libra.ui.folder import looked_at, run_folder
from evo_libra.ui.output import new_console
from evo_libra.ui.texts import duration, print_json

_FAILED = 1
_WIDE = 110
_UNBOUNDED = 10_000
_FEW = ("run", "status", "evaluations", "front", "time")
_ALL = (*_FEW, "hypervolume", "name")


def results_command(query: Sequence[str], results: Path, sort: str, rows: int, *, as_json: bool) -> int:
    """List runs."""
    if rows < 1:
        raise InputError(f"--rows: found {rows}; it must be at least 1")
    catalogue = Catalogue.open(looked_at(results))
    runs = catalogue.runs(" ".join(query), sort)
    catalogue.close()
    if as_json:
        print_json({"runs": [run_json(run) for run in runs]})
        return 0
    _show_runs(runs, rows)
    return 0


def run_json(run: RunInfo) -> dict[str, Any]:
    """Return a run as JSON-able data."""
    return {**asdict(run), "folder": str(run.folder)}


def _show_runs(runs: Sequence[RunInfo], rows: int) -> None:
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


def _cells(run: RunInfo) -> dict[str, str]:
    whole = run.status in ("done", "stale")
    return {
        "run": run.id,
        "status": run.status,
        "evaluations": f"{run.evaluations:,}" if whole else f"{run.evaluations:,}/{run.budget:,}",
        "front": f"{run.front_size:,}",
        "hypervolume": "" if run.hypervolume is None else f"{run.hypervolume:.4f}",
        "time": duration(run.wall_s),
        "name": run.name,
    }


def show_command(name: str, results: Path, *, as_json: bool) -> int:
    """Show what a run came from and what became of it."""
    folder = RunFolder(run_folder(name, results))
    run, manifest = _found(folder)
    damaged = _damaged(folder)
    if as_json:
        state = {"status": "damaged"} if damaged else {}
        print_json({"run": {**run_json(run), **state}, "manifest": manifest, "damaged": list(damaged)})
    else:
        for label, value in _facts(run, manifest, damaged):
            new_console().print(Text(f"{label:<14}{value}"), soft_wrap=True)
    return _FAILED if damaged else 0


def _facts(run: RunInfo, manifest: Mapping[str, Any], damaged: Sequence[str]) -> list[tuple[str, str]]:
    git, source = manifest.get("git") or {}, manifest.get("source", {})
    state = "" if not git else git["commit"] + ("" if git["clean"] else ", with changes that were not committed")
    changes = [f"  {assignment}" for assignment in source.get("set", [])]
    volume = "" if run.hypervolume is None else f", hypervolume {run.hypervolume:.6g}"
    islands = f", {run.islands} islands" if run.islands > 1 else ""
    told = f", {words}" if (words := course(run.ended, run.restarts)) else ""
    facts = [
        ("run", str(run.folder)),
        ("status", _state(run, damaged)),
        ("experiment", f"{run.experiment} {run.name}".strip()),
        ("problem", run.problem + (f" ({source['problem']})" if "problem" in source else "")),
        *(("", change) for change in changes),
        ("engine", f"{run.engine}, population {run.population:,}, seed {run.seed}{islands}"),
        ("evaluations", f"{run.evaluations:,} of {run.budget:,}{told}"),
        ("front", f"{counted(run.front_size, 'design')}{volume}"),
        ("started", manifest.get("started", "")),
        ("updated", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(run.updated))),
        ("time", duration(run.wall_s)),
        ("hash", run.hash),
        ("program", f"{manifest.get('program', '')}"),
        ("git", state),
        ("machine", ", ".join(str(value) for value in manifest.get("machine", {}).values())),
        ("versions", ", ".join(f"{name} {version}" for name, version in manifest.get("versions", {}).items())),
        ("command", " ".join(manifest.get("command", []))),
    ]  # fmt: skip
    return [(label, value) for label, value in facts if value]


def _found(folder: RunFolder) -> tuple[RunInfo, dict[str, Any]]:
    """Return a run and its manifest, which is empty for one that has not got so far."""
    path = folder.path.resolve()
    place, run_id = path.parents[1], f"{path.parent.name}/{path.name}"
    manifest = folder.read_json(MANIFEST) if (folder.path / MANIFEST).is_file() else {}
    run = read_run(place, run_id)
    if run is None:
        catalogue = Catalogue.open(place)
        run = catalogue.find(run_id)
        catalogue.close()
    return replace(run, folder=folder.path), manifest


def _damaged(folder: RunFolder) -> tuple[str, ...]:
    """Return the names of the files that are not what a run wrote; the checkpoint counts until it has finished."""
    from evo_libra.experiment.sealed import load_sealed  # noqa: PLC0415 - imports NumPy

    damaged = folder.damaged()
    if folder.done:
        return damaged
    try:
        load_sealed(folder.path / CHECKPOINT)
    except InputError:
        return (*damaged, CHECKPOINT)
    return damaged


def _state(run: RunInfo, damaged: Sequence[str]) -> str:
    if damaged:
        return f"damaged: {', '.join(damaged)} {'is' if len(damaged) == 1 else 'are'} not what the run wrote"
    return run.status + (f": {run.error}" if run.error else "") + (f" by {run.worker}" if run.worker else "")


def reproduce_command(name: str, results: Path, *, as_json: bool) -> int:
    """Do a run again and compare."""
    from evo_libra.experiment.reproduce import reproduce  # noqa: PLC0415 - imports NumPy

    folder = RunFolder(run_folder(name, results))
    console = new_console(stderr=True)
    with Status("", console=console) as status:
        spec, found = reproduce(folder, lambda snapshot: status.update(counted(snapshot.evaluations, "evaluation")))
    if as_json:
        print_json({"run": spec.id, **asdict(found)})
    else:
        if not found.intact:
            print("the front on disk is not the one that the run wrote")
        if found.identical:
            print(f"identical: {counted(found.now, 'design')}, byte for byte")
        else:
            by = "" if found.difference is None else f"; objectives differ by up to {found.difference:.2g}"
            print(f"different: {counted(found.before, 'design')} then, {found.now:,} now{by}")
        for key, (then, now) in found.changed.items():
            print(f"  {key}: {then} then, {now} now")
    return 0 if found.identical else _FAILED
