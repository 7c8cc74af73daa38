"""Runs of a folder of results: listed, shown, done again, watched in the terminal UI."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from evo_libra.errors import counted
from evo_libra.explain.labels import duration
from evo_libra.named_code import trust_files
from evo_libra.ui.commands.shared import Flag, Json, Out, Rows, RunName, TrustCode, app
from evo_libra.ui.tables.named_runs import DEFAULT, looked_at, run_folder
from evo_libra.ui.tables.output import new_console, print, print_json, print_table

if TYPE_CHECKING:
    from evo_libra.experiment.run.record import Column, RunRecord
    from evo_libra.experiment.store.folder import RunFolder


_FAILED = 1
_WIDE = 110
_NOTES = 10
_UNBOUNDED = 10_000


@app.command
def ui(
    results: Path = DEFAULT,
    *,
    light: Flag = False,
    ascii_: Annotated[Flag, Parameter(name="--ascii")] = False,
    trust_code: TrustCode = False,
) -> int:
    """Watch and steer runs in the terminal: live fronts, queue, designs. Leaving it stops nothing.

    Parameters
    ----------
    results:
        Folder of results; runs on other machines may write to it.
    light:
        Begin with the light theme.
    ascii_:
        Draw with ASCII characters only.
    """
    from evo_libra.ui.terminal.app import run_ui

    trust_files(allowed=trust_code)
    return run_ui(results, light=light, ascii_only=ascii_)


@app.command(name="results")
def list_runs(
    *query: str,
    results: Out = DEFAULT,
    sort: Annotated[str, Parameter(allow_leading_hyphen=True)] = "-updated",
    rows: Rows = 40,
    as_json: Json = False,
) -> int:
    """List runs: what they are, how far they are, what they found.

    Parameters
    ----------
    query:
        Words that a run fits, such as status:failed seed:3 engine:nsga* "evaluations>1000" 4k; -word after -- negates.
    sort:
        A field, such as hypervolume; -hypervolume begins with the largest.
    """
    from evo_libra.experiment.results.catalogue import Catalogue

    with closing(Catalogue.open(looked_at(results))) as catalogue:
        runs, notes = catalogue.runs(" ".join(query), sort), catalogue.notes()
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
def show(run: RunName, *, results: Out = DEFAULT, as_json: Json = False) -> int:
    """Show what a run came from: problem, seed, versions, git state, machine, times."""
    from rich.text import Text

    from evo_libra.experiment.store.folder import RunFolder, damaged_files
    from evo_libra.explain.references import reference_rows
    from evo_libra.ui.tables.references import reference_facts

    folder = RunFolder(run_folder(run, results))
    damaged = damaged_files(folder)
    info, manifest = _found(folder, damaged)
    references = (
        [] if damaged or not info.front_size else reference_rows(folder.read_references().points, folder.read_front())
    )
    if as_json:
        shown = {"run": info.row(), "manifest": manifest, "damaged": list(damaged), "reasons": damaged}
        print_json(shown | ({"references": references} if references else {}))
    else:
        for label, value in (*_facts(info, manifest, damaged), *reference_facts(references)):
            new_console().print(Text(f"{label:<14}{value}"), soft_wrap=True)
    return _FAILED if damaged else 0


@app.command
def reproduce(run: RunName, *, results: Out = DEFAULT, trust_code: TrustCode = False, as_json: Json = False) -> int:
    """Repeat a run and compare the fronts; exit code 1 if they differ."""
    from rich.status import Status

    from evo_libra.experiment.results.reproduction import reproduce as reproduced
    from evo_libra.experiment.store.folder import RunFolder

    trust_files(allowed=trust_code)
    folder = RunFolder(run_folder(run, results))
    with Status("", console=new_console(stderr=True)) as status:
        spec, found = reproduced(
            folder,
            lambda snapshot: status.update(counted(snapshot.evaluations, "evaluation")),
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
    from evo_libra.experiment.run.record import COLUMNS, counts

    console = new_console()
    # A pipe has no width: whatever reads it gets whole lines.
    width = console.width if console.is_terminal or "COLUMNS" in os.environ else _UNBOUNDED
    shown = sorted(
        (one for one in COLUMNS if one.shown), key=lambda one: (one.shown, one.shown == "wide" and one.kind == "str")
    )
    columns = [one for one in shown if one.shown == "always" or width >= _WIDE]  # free texts last
    texts = [one for one in columns if one.place != "figure"]
    print_table(
        "",
        [one.heading for one in columns],
        [[_cell(run, one) for one in columns] for run in runs[:rows]],
        left=[one.heading for one in texts],
        fold=[one.heading for one in texts if one.kind == "str"],  # an id that is cut is no use
        min_width=width,
    )
    found = ", ".join(f"{count:,} {status}" for status, count in counts(runs).items()) or "no runs"
    more = f"; {rows} shown, --rows shows more" if len(runs) > rows else ""
    asked = ", ".join(f"{count:,} {question}" for question, count in _questions(runs).items())
    print(f"{found}{more}{f'; questions: {asked}' if asked else ''}")


def _questions(runs: Sequence[RunRecord]) -> Counter[str]:
    """Return how many runs answer each question, as far as they say it."""
    return Counter(run.question for run in runs if run.question)


def _cell(run: RunRecord, column: Column) -> str:
    """Return a value for reading; the figures of a damaged run are not known."""
    value = getattr(run, column.attribute)
    if value is None or (run.status == "damaged" and column.place == "figure"):
        return ""
    if column.attribute == "evaluations" and run.status not in ("done", "stale"):
        return f"{value:,}/{run.budget:,}"
    if column.unit == "s":
        return duration(value)
    return f"{value:.4f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else value


def _facts(run: RunRecord, manifest: Mapping[str, Any], damaged: Mapping[str, str]) -> list[tuple[str, str]]:
    from evo_libra.experiment.run.record import RUN_FIGURES, ending_text

    git, source = manifest.get("git") or {}, manifest.get("source", {})
    state = "" if not git else git["commit"] + ("" if git["clean"] else ", with changes that were not committed")
    volume = "" if run.hypervolume is None else f", hypervolume {run.hypervolume:.6g}"
    ending = f", {words}" if (words := ending_text(run.ended, run.restarts)) else ""
    own = ("evaluations", "front_size", "hypervolume", "wall_s", "ended", "restarts", "claim")
    facts = [
        ("run", str(run.folder)),
        ("status", _state(run, damaged)),
        *(("", reason) for reason in damaged.values()),
        ("experiment", f"{run.experiment} {run.name}".strip()),
        ("problem", run.problem + (f" ({source['problem']})" if "problem" in source else "")),
        *(("", f"  {assignment}") for assignment in source.get("set", [])),
        *((
            ("engine", _settings(run, manifest)),
            ("", manifest.get("method", {}).get("engine_choice", "")),
            ("", run.claim),
            ("evaluations", f"{run.evaluations:,} of {run.budget:,}{ending}"),
            ("question", run.question),
            ("front", f"{counted(run.front_size, run.question or 'design')}{volume}"),
            *((one.heading, _cell(run, one)) for one in RUN_FIGURES if one.attribute not in own),
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


def _settings(run: RunRecord, manifest: Mapping[str, Any]) -> str:
    """Return the settings of a run that a plain search would not have; evaluations have a line of their own."""
    from evo_libra.experiment.run.record import COLUMNS
    from evo_libra.experiment.run.settings import asked_settings, read_settings

    values = {one.key: getattr(run, one.attribute) for one in COLUMNS if one.place == "setting"}
    with suppress(KeyError):  # a run without a manifest, or of a version that kept less
        values |= read_settings(manifest)
    named = [one for one in asked_settings() if one.name in values and one.name not in ("engine", "evaluations")]
    parts = [(one.name, values[one.name]) for one in named if one.required or values[one.name] != one.default]
    texts = [f"{value:,}" if isinstance(value, int) and key != "seed" else f"{value}" for key, value in parts]
    return ", ".join([run.engine, *(f"{key} {text}" for (key, _), text in zip(parts, texts, strict=True))])


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
        with closing(Catalogue.open(place)) as catalogue:
            run = catalogue.find(run_id)
    state = replace(run, status="damaged", error=next(iter(damaged.values()))) if damaged else run
    return replace(state, location=str(folder.path)), manifest


def _state(run: RunRecord, damaged: Iterable[str]) -> str:
    if run.status == "damaged":
        return f"damaged: {', '.join(damaged)}; evo-libra run does the run again"
    return run.status + (f": {run.error}" if run.error else "") + (f" by {run.worker}" if run.worker else "")
