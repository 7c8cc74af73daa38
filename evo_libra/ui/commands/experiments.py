"""The commands about experiments and runs: plan, run, results, show, reproduce, compare, ui."""

from __future__ import annotations

from pathlib import Path

from evo_libra.ui.commands.shared import Ascii, Flag, Json, Order, TrustCode, app


@app.command
def plan(
    experiment: Path,
    *,
    out: Path = Path("results"),
    workers: int | None = None,
    rows: int = 40,
    trust_code: TrustCode = False,
    json_: Json = False,
) -> int:
    """Show the runs of an experiment, what is there of them, and how long the rest will take.

    Parameters
    ----------
    experiment:
        Path of an experiment file.
    out:
        Folder of results.
    workers:
        Processes of this machine that the estimate is for; as many as there are cores when left out.
    rows:
        Most rows of the table. JSON has all runs.
    trust_code:
        Run the code of problems and engines that the file names as module:object; otherwise such a file is refused.
    json_:
        Print one JSON object and nothing else.
    """
    from evo_libra.ui.commands.run import plan_command  # noqa: PLC0415 - see `shared`

    return plan_command(experiment, out, workers, rows, trust_code=trust_code, as_json=json_)


@app.command
def run(  # noqa: PLR0913 - each is an option of the command
    experiment: Path,
    *,
    out: Path = Path("results"),
    workers: int | None = None,
    scheduler: str | None = None,
    tls_ca_file: Path | None = None,
    tls_cert: Path | None = None,
    tls_key: Path | None = None,
    detach: Flag = False,
    retry_failed: Flag = False,
    rerun_stale: Flag = False,
    json_: Json = False,
) -> int:
    """Run an experiment; what is done already is skipped, what was begun goes on. Exit code 3: some runs have failed.

    Parameters
    ----------
    experiment:
        Path of an experiment file. Problems and engines that it names as module:object are code, which is run.
    out:
        Folder of results.
    workers:
        Processes of this machine, as many as there are cores when left out; 0 is this process alone.
    scheduler:
        Address or file of a running Dask scheduler to use; whoever reaches one without certificates runs code as you.
    tls_ca_file:
        Certificate of the authority that has signed those of a scheduler and its workers, as of `dask scheduler`.
    tls_cert:
        This program's certificate for the scheduler.
    tls_key:
        The key of that certificate.
    detach:
        Leave the batch running without a terminal.
    retry_failed:
        Run those again that have failed.
    rerun_stale:
        Run those again that another version of the program has done.
    json_:
        Print one JSON object and nothing else.
    """
    from evo_libra.experiment.execution.scheduler import Tls  # noqa: PLC0415 - see `shared`
    from evo_libra.ui.commands.run import RunOptions, run_command  # noqa: PLC0415 - the same

    again = tuple(name for name, asked in (("failed", retry_failed), ("stale", rerun_stale)) if asked)
    options = RunOptions(out, workers, scheduler, Tls(tls_ca_file, tls_cert, tls_key), again)
    return run_command(experiment, options, detach=detach, as_json=json_)


@app.command
def results(
    *query: str, out: Path = Path("results"), sort: Order = "-updated", rows: int = 40, json_: Json = False
) -> int:
    """List runs: what they are, how far they are, what they found.

    Parameters
    ----------
    query:
        Words that all hold, as status:failed seed:3 engine:nsga* "evaluations>1000" 4k; after --, -word negates.
    out:
        Folder of results.
    sort:
        A field, such as hypervolume; -hypervolume begins with the largest.
    rows:
        Most rows of the table. JSON has all runs.
    json_:
        Print one JSON object and nothing else.
    """
    from evo_libra.ui.commands.results import results_command  # noqa: PLC0415 - see `shared`

    return results_command(query, out, sort, rows, as_json=json_)


@app.command
def show(run: str, *, out: Path = Path("results"), json_: Json = False) -> int:
    """Show what a run came from: problem, seed, versions, git state, machine, times.

    Parameters
    ----------
    run:
        Folder of a run, or one with a single run in it; or a part of its name that no other has.
    out:
        Folder of results.
    json_:
        Print one JSON object and nothing else.
    """
    from evo_libra.ui.commands.results import show_command  # noqa: PLC0415 - see `shared`

    return show_command(run, out, as_json=json_)


@app.command
def reproduce(run: str, *, out: Path = Path("results"), trust_code: TrustCode = False, json_: Json = False) -> int:
    """Do a run again and compare the fronts; exit code 1 when they differ.

    Parameters
    ----------
    run:
        Folder of a run, or one with a single run in it; or a part of its name that no other has.
    out:
        Folder of results.
    trust_code:
        Run the code of a problem or an engine that the run names as module:object.
    json_:
        Print one JSON object and nothing else.
    """
    from evo_libra.ui.commands.results import reproduce_command  # noqa: PLC0415 - see `shared`

    return reproduce_command(run, out, trust_code=trust_code, as_json=json_)


@app.command
def compare(*runs: str, out: Path = Path("results"), figure: Path | None = None, json_: Json = False) -> int:
    """Compare the fronts of runs; those that differ in their seeds alone are taken together.

    Parameters
    ----------
    runs:
        Folders of runs, parts of their names, or filters, such as experiment:mine engine:nsga2, which hold together.
    out:
        Folder of results.
    figure:
        A file to draw the fronts to (.png, .pdf or .svg).
    json_:
        Print one JSON object and nothing else.
    """
    from evo_libra.ui.commands.compare import compare_command  # noqa: PLC0415 - see `shared`

    return compare_command(runs, out, figure, as_json=json_)


@app.command
def ui(results: Path = Path("results"), *, light: Flag = False, ascii_: Ascii = False) -> int:
    """Watch and steer runs in the terminal: live fronts, queue, designs. Leaving it stops nothing.

    Parameters
    ----------
    results:
        Folder of results; runs may be at work on other machines that write to it.
    light:
        Begin with the light theme.
    ascii_:
        Draw with ASCII characters only.
    """
    from evo_libra.ui.terminal.app import run_ui  # noqa: PLC0415 - see `shared`

    return run_ui(results, light=light, ascii_only=ascii_)
