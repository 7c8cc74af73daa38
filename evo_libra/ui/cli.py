"""The command line. Heavy packages are imported inside the commands, so that ``--help`` is quick."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, CycloptsError, Parameter

from evo_libra import __version__
from evo_libra.errors import EvoLibraError, InputError

DONE, FAILED, WRONG_INPUT, INTERRUPTED = 0, 1, 2, 130

app = App(
    name="evo-libra",
    help="Find Pareto-optimal networks for distributed AI training.",
    version=__version__,
    help_format="plaintext",
    help_formatter="plain",
)

Json = Annotated[bool, Parameter(name="--json", negative="")]
Flag = Annotated[bool, Parameter(negative="")]
Order = Annotated[str, Parameter(allow_leading_hyphen=True)]
Ascii = Annotated[bool, Parameter(name="--ascii", negative="")]
Assignments = Annotated[list[str] | None, Parameter(name="--set", negative="")]


def main() -> None:
    """Run the command line; exit codes: 0 done, 1 failed, 2 wrong input, 3 runs of a batch failed, 130 interrupted."""
    try:
        code = app(sys.argv[1:], exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
    except CycloptsError as error:
        _complain(f"{error}")
        code = WRONG_INPUT
    except InputError as error:
        _complain(str(error))
        code = WRONG_INPUT
    except EvoLibraError as error:
        _complain(str(error))
        code = FAILED
    except KeyboardInterrupt:
        _complain("interrupted")
        code = INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has closed it; Python must not complain about that at its end either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = FAILED
    sys.exit(code if isinstance(code, int) else DONE)


def _complain(text: str) -> None:
    for line in text.splitlines():
        print(f"evo-libra: {line}", file=sys.stderr)


def _print_json(data: Any) -> None:  # noqa: ANN401 - JSON-able data
    print(json.dumps(data, indent=2, allow_nan=False))


@app.command
def search(  # noqa: PLR0913 - each is an option of the command
    problem: str,
    *,
    engine: str | None = None,
    evaluations: int | None = None,
    population: int | None = None,
    seed: int | None = None,
    out: Path = Path("results"),
    resume: Annotated[bool, Parameter(negative="")] = False,
    workers: int | None = None,
    timeout: float | None = None,
    asynchronous: Annotated[bool, Parameter(negative="")] = False,
    seconds: float | None = None,
    stagnation: int | None = None,
    gap: float | None = None,
    restarts: int | None = None,
    start_from: Path | None = None,
    memetic: float | None = None,
    islands: int | None = None,
    keep: Literal["front", "designs"] | None = None,
    set_: Assignments = None,
    json_: Json = False,
) -> int:
    """Search a problem for its Pareto front and keep it in a folder of results.

    Parameters
    ----------
    problem:
        Path of a problem file, name of a problem, or module:object.
    engine:
        nsga2, nsga3, random, exhaustive, pymoo:NAME, deap:NAME, or one of your own; see `evo-libra catalog`.
    evaluations:
        How many designs to evaluate.
    population:
        Designs per generation.
    seed:
        Seed of the random numbers; the same seed gives the same front.
    out:
        Folder of results.
    resume:
        Go on where an interrupted run of the same problem, engine and seed stopped.
    workers:
        For designs that take long to evaluate: processes that each evaluate one at a time. What designs are worth is
        kept, so that each is evaluated once.
    timeout:
        Seconds that a design may take in a worker; one that takes longer counts as infeasible.
    asynchronous:
        Ask for another design whenever one is done, without waiting for the others of its generation; which is done
        first is chance, so that the seed does not decide the front.
    seconds:
        Of work, after which the search ends whatever its evaluations.
    stagnation:
        Evaluations over which the hypervolume has to grow by 0.1 %, or the search ends.
    gap:
        The search ends when its front is proven to be so near the best one, such as 0.01.
    restarts:
        How often a search that stagnates is started anew instead of being ended.
    start_from:
        Folder of a run, or file of a front, whose designs the search starts from.
    memetic:
        Share of the evaluations that give designs of the front better bandwidths; what pays when left out, 0 for none.
    islands:
        Searches side by side, in processes of their own, that exchange designs; each has the whole population.
    keep:
        What is kept: the front, or every design that is evaluated as well.
    set_:
        KEY=VALUE, replaces a value of the problem file; may be repeated.
    json_:
        Print one JSON object and nothing else.
    """
    from evo_libra.ui.commands import search_command  # noqa: PLC0415 - see the top

    options: dict[str, Any] = {"engine": engine, "evaluations": evaluations, "population": population, "seed": seed}
    options |= {"workers": workers, "timeout": timeout, "asynchronous": asynchronous, "seconds": seconds}
    options |= {"stagnation": stagnation, "gap": gap, "restarts": restarts, "start_from": start_from}
    options |= {"memetic": memetic, "islands": islands, "keep": keep}
    return search_command(problem, options, out, set_ or [], resume=resume, as_json=json_)


@app.command
def front(result: Path, *, rows: int = 12, json_: Json = False) -> int:
    """Show the front of a result.

    Parameters
    ----------
    result:
        Folder of a run, such as results/gpt3-4k/nsga2-1a2b3c4d-s0.
    rows:
        Most rows of the table; they are spread along the front. JSON has all designs.
    json_:
        Print one JSON object and nothing else.
    """
    from evo_libra.ui.commands import front_command  # noqa: PLC0415 - see the top

    return front_command(result, rows, as_json=json_)


@app.command
def evaluate(problem: str, *, design: str, set_: Assignments = None, json_: Json = False) -> int:
    """Evaluate one design: its time and cost, and where they come from.

    Parameters
    ----------
    problem:
        Path of a problem file, or name of a problem.
    design:
        Such as "RI(4)@chiplet:250_FC(8)@package:125_RI(4)@node:60_SW(32)@pod:20" (GB/s per NPU).
    set_:
        KEY=VALUE, replaces a value of the problem file; may be repeated.
    json_:
        Print one JSON object and nothing else.
    """
    from evo_libra.ui.commands import evaluate_command  # noqa: PLC0415 - see the top

    return evaluate_command(problem, design, set_ or [], as_json=json_)


@app.command
def optimize(
    problem: str,
    *,
    shape: str | None = None,
    total: float | None = None,
    cost: float | None = None,
    constraint: Annotated[list[str] | None, Parameter(negative="")] = None,
    objective: str = "time",
    set_: Assignments = None,
    json_: Json = False,
) -> int:
    """Find the best bandwidths of one network, exactly, with a proof and what holds them back.

    Parameters
    ----------
    problem:
        Path of a problem file, or name of a problem. Bounds of bandwidth that it leaves out do not exist here.
    shape:
        Such as "RI(4)_FC(8)_RI(4)_SW(32)"; technologies that it leaves open are chosen.
    total:
        GB/s per NPU over all dimensions, exactly.
    cost:
        USD at most.
    constraint:
        As in a problem file, such as "bw[0] >= bw[1]"; may be repeated.
    objective:
        time, or time-cost: the product of both, LIBRA's perf-per-cost.
    set_:
        KEY=VALUE, replaces a value of the problem file; may be repeated.
    json_:
        Print one JSON object and nothing else.
    """
    from evo_libra.ui.proofs import optimize_command  # noqa: PLC0415 - see the top

    limits = {"total": total, "cost": cost, "constraints": constraint or []}
    return optimize_command(problem, shape, limits, objective, set_ or [], as_json=json_)


@app.command
def certify(
    result: Path,
    *,
    problem: str | None = None,
    set_: Assignments = None,
    seconds: float | None = None,
    json_: Json = False,
) -> int:
    """Prove how far the front of a result is from optimal.

    Parameters
    ----------
    result:
        Folder of a run, such as results/gpt3-4k/nsga2-1a2b3c4d-s0.
    problem:
        The problem, where its file is no longer where the run found it.
    set_:
        KEY=VALUE, as in the run; only together with --problem.
    seconds:
        After which a proof over a large space stops as tight as it is by then; so does Ctrl-C.
    json_:
        Print one JSON object and nothing else.
    """
    from evo_libra.ui.proofs import certify_command  # noqa: PLC0415 - see the top

    return certify_command(result, problem, set_ or [], seconds, as_json=json_)


@app.command
def rescore(
    result: Path,
    *,
    time: Literal["libra", "astra", "themis"],
    problem: str | None = None,
    set_: Assignments = None,
    rows: int = 12,
    json_: Json = False,
) -> int:
    """Look at the front of a result under another model of time: who moves, who is still on the front.

    Parameters
    ----------
    result:
        Folder of a run, such as results/gpt3-4k/nsga2-1a2b3c4d-s0.
    time:
        The other model of time.
    problem:
        The problem, where its file is no longer where the run found it.
    set_:
        KEY=VALUE, on top of those of the run, such as time.latency_ns=500; may be repeated.
    rows:
        Most rows of the table; they are spread along the front. JSON has all designs.
    json_:
        Print one JSON object and nothing else.
    """
    from evo_libra.ui.rescore import rescore_command  # noqa: PLC0415 - see the top

    return rescore_command(result, time, problem, set_ or [], rows, as_json=json_)


@app.command
def plan(
    experiment: Path, *, out: Path = Path("results"), workers: int | None = None, rows: int = 40, json_: Json = False
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
    json_:
        Print one JSON object and nothing else.
    """
    from evo_libra.ui.batch import plan_command  # noqa: PLC0415 - see the top

    return plan_command(experiment, out, workers, rows, as_json=json_)


@app.command
def run(
    experiment: Path,
    *,
    out: Path = Path("results"),
    workers: int | None = None,
    scheduler: str | None = None,
    detach: Flag = False,
    retry_failed: Flag = False,
    rerun_stale: Flag = False,
    json_: Json = False,
) -> int:
    """Run an experiment; what is done already is skipped, what was begun goes on. Exit code 3: some runs have failed.

    Parameters
    ----------
    experiment:
        Path of an experiment file.
    out:
        Folder of results.
    workers:
        Processes of this machine, as many as there are cores when left out; 0 is this process alone.
    scheduler:
        Address or scheduler file of a running Dask scheduler, whose workers are used instead.
    detach:
        Leave the batch running without a terminal.
    retry_failed:
        Run those again that have failed.
    rerun_stale:
        Run those again that another version of the program has done.
    json_:
        Print one JSON object and nothing else.
    """
    from evo_libra.ui.batch import RunOptions, run_command  # noqa: PLC0415 - see the top

    again = [name for name, asked in (("failed", retry_failed), ("stale", rerun_stale)) if asked]
    return run_command(experiment, RunOptions(out, workers, scheduler, tuple(again)), detach=detach, as_json=json_)


@app.command
def results(
    *query: str, out: Path = Path("results"), sort: Order = "-updated", rows: int = 40, json_: Json = False
) -> int:
    """List runs: what they are, how far they are, what they found.

    Parameters
    ----------
    query:
        Words that all hold, such as status:failed seed:3 engine:nsga* "evaluations>1000" 4k; -word turns one round.
    out:
        Folder of results.
    sort:
        A field, such as hypervolume; -hypervolume begins with the largest.
    rows:
        Most rows of the table. JSON has all runs.
    json_:
        Print one JSON object and nothing else.
    """
    from evo_libra.ui.results import results_command  # noqa: PLC0415 - see the top

    return results_command(query, out, sort, rows, as_json=json_)


@app.command
def show(run: str, *, out: Path = Path("results"), json_: Json = False) -> int:
    """Show what a run came from: problem, seed, versions, git state, machine, times.

    Parameters
    ----------
    run:
        Folder of a run, or a part of its name that no other has.
    out:
        Folder of results.
    json_:
        Print one JSON object and nothing else.
    """
    from evo_libra.ui.results import show_command  # noqa: PLC0415 - see the top

    return show_command(run, out, as_json=json_)


@app.command
def reproduce(run: str, *, out: Path = Path("results"), json_: Json = False) -> int:
    """Do a run again and compare the fronts; exit code 1 when they differ.

    Parameters
    ----------
    run:
        Folder of a run, or a part of its name that no other has.
    out:
        Folder of results.
    json_:
        Print one JSON object and nothing else.
    """
    from evo_libra.ui.results import reproduce_command  # noqa: PLC0415 - see the top

    return reproduce_command(run, out, as_json=json_)


@app.command
def compare(*runs: str, out: Path = Path("results"), figure: Path | None = None, json_: Json = False) -> int:
    """Compare the fronts of runs; those that differ in their seeds alone are taken together.

    Parameters
    ----------
    runs:
        Folders of runs, parts of their names, or filters such as experiment:mine engine:nsga2.
    out:
        Folder of results.
    figure:
        A file to draw the fronts to (.png, .pdf or .svg).
    json_:
        Print one JSON object and nothing else.
    """
    from evo_libra.ui.compare import compare_command  # noqa: PLC0415 - see the top

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
    from evo_libra.ui.terminal.start import run_ui  # noqa: PLC0415 - see the top

    return run_ui(results, light=light, ascii_only=ascii_)


@app.command
def bench(  # noqa: PLR0913 - each is an option of the command
    problem: str,
    *,
    engines: Annotated[list[str], Parameter(consume_multiple=True, negative="")],
    seeds: int | None = None,
    evaluations: int | None = None,
    population: int | None = None,
    exact: Annotated[bool, Parameter(negative="")] = False,
    workers: int | None = None,
    out: Path = Path("results"),
    set_: Assignments = None,
    json_: Json = False,
) -> int:
    """Compare engines on a problem: quality of their fronts over several seeds, and their speed.

    Parameters
    ----------
    problem:
        Path of a problem file, name of a problem, or module:object.
    engines:
        Such as nsga2 pymoo:nsga2 deap:nsga2; `evo-libra catalog` lists them.
    seeds:
        Runs of each engine, with the seeds from 0 on; 5 when left out.
    evaluations:
        How many designs each run evaluates.
    population:
        Designs per generation.
    exact:
        Compare with the exact front, where it can be enumerated, and not with the best of all runs.
    workers:
        Processes; one per core when left out. Times are more exact with fewer.
    out:
        Folder of results.
    set_:
        KEY=VALUE, replaces a value of the problem file; may be repeated.
    json_:
        Print one JSON object and nothing else.
    """
    from evo_libra.ui.bench import bench_command  # noqa: PLC0415 - see the top

    options = {"seeds": seeds, "evaluations": evaluations, "population": population, "workers": workers}
    return bench_command(problem, engines, options, out, set_ or [], exact=exact, as_json=json_)


@app.command
def prices(
    result: Path,
    *,
    scenarios: int = 1000,
    seed: int = 0,
    score: Literal["mean", "worst", "regret"] = "mean",
    problem: str | None = None,
    set_: Assignments = None,
    rows: int = 12,
    json_: Json = False,
) -> int:
    """Look at the front of a result under uncertain prices of parts: what it costs, who is still on the front.

    Parameters
    ----------
    result:
        Folder of a run on a catalogue of parts.
    scenarios:
        Scenarios to draw; in each every part has one price of its range, with the stated one as the likeliest.
    seed:
        Of the draws.
    score:
        What decides who is on the front: the mean cost, the worst one, or the largest regret, which is how much more
        a design costs in a scenario than the cheapest one that is at most as slow.
    problem:
        The problem, where its file is no longer where the run found it.
    set_:
        KEY=VALUE, on top of those of the run, such as fabric.catalog=dearer.yaml; may be repeated.
    rows:
        Most rows of the table; they are spread along the front. JSON has all designs.
    json_:
        Print one JSON object and nothing else.
    """
    from evo_libra.ui.prices import prices_command  # noqa: PLC0415 - see the top

    options = {"scenarios": scenarios, "seed": seed, "rows": rows}
    return prices_command(result, options, score, problem, set_ or [], as_json=json_)


@app.command
def export(
    result: Path | None = None,
    number: Annotated[int | None, Parameter(name="id")] = None,
    *,
    astra_sim: Path,
    design: str | None = None,
    time: Literal["astra", "themis"] | None = None,
    problem: str | None = None,
    set_: Assignments = None,
    json_: Json = False,
) -> int:
    """Write a design with its workloads for ASTRA-sim, and predict to the nanosecond what it will say.

    Parameters
    ----------
    result:
        Folder of a run, such as results/gpt3-4k/nsga2-1a2b3c4d-s0.
    number:
        The design's id in the front.
    astra_sim:
        Folder to write; new or empty.
    design:
        A design of --problem in the notation, instead of one of a result.
    time:
        The model of time to export, where the problem has LIBRA's.
    problem:
        The problem, where its file is no longer where the run found it.
    set_:
        KEY=VALUE, on top of those of the run, such as time.latency_ns=500; may be repeated.
    json_:
        Print one JSON object and nothing else.
    """
    from evo_libra.ui.export import export_command, source_of  # noqa: PLC0415 - see the top

    source = source_of(result, number, design, problem)
    return export_command(source, astra_sim, time, problem, set_ or [], as_json=json_)


@app.command(name="import")
def import_cluster(*, network: Path, system: Path, problem: Path | None = None, json_: Json = False) -> int:
    """Read a cluster of ASTRA-sim: its design in the notation, and the time of a problem file.

    Parameters
    ----------
    network:
        ASTRA-sim's network file.
    system:
        Its system file.
    problem:
        Problem file to write, with the network pinned, and a catalogue beside it.
    json_:
        Print one JSON object and nothing else.
    """
    from evo_libra.ui.importing import import_command  # noqa: PLC0415 - see the top

    return import_command(network, system, problem, as_json=json_)


@app.command
def catalog(name: str | None = None, *, json_: Json = False) -> int:
    """List what can be used in a problem file: catalogues with their prices, blocks, models, problems, engines.

    Parameters
    ----------
    name:
        Show just this catalogue (a name, or the path of a .yaml file); of parts, each with its figures and source.
    json_:
        Print one JSON object and nothing else.
    """
    from evo_libra.ui.catalog import catalog_command  # noqa: PLC0415 - see the top

    return catalog_command(name, as_json=json_)


@app.command
def init(path: Path = Path("problem.yaml"), *, json_: Json = False) -> int:
    """Write a commented problem file to start from.

    Parameters
    ----------
    path:
        Where to write it; a file that is there is kept.
    json_:
        Print one JSON object and nothing else.
    """
    from evo_libra.ui.starter import STARTER  # noqa: PLC0415 - see the top

    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(STARTER)
    except FileExistsError:
        raise InputError(f"{path} exists already; name another path") from None
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None
    if json_:
        _print_json({"problem": str(path)})
    else:
        print(f"wrote {path}; try: evo-libra search {path}")
    return DONE


@app.command
def schema(kind: Literal["problem", "experiment"] = "problem") -> int:
    """Print the JSON Schema of problem files or experiment files, for editors.

    Parameters
    ----------
    kind:
        Which of the two.
    """
    if kind == "experiment":
        from evo_libra.experiment.spec import ExperimentSpec  # noqa: PLC0415 - see the top

        _print_json(ExperimentSpec.model_json_schema())
    else:
        from evo_libra.problem.spec import ProblemSpec  # noqa: PLC0415 - see the top

        _print_json(ProblemSpec.model_json_schema())
    return DONE


workload = App(name="workload", help="Look at execution traces of workloads.")
app.command(workload)


@workload.command(name="show")
def show_workload(
    trace: Path,
    *,
    peak: float | None = None,
    memory_bandwidth: float | None = None,
    rows: int = 20,
    json_: Json = False,
) -> int:
    """Show what Chakra execution traces hold: nodes, bytes, compute, the longest chain.

    Parameters
    ----------
    trace:
        A trace, or the prefix of PREFIX.<npu>.et for all NPUs.
    peak:
        TFLOP/s of an NPU; with the bandwidth of its memory it gives computations their time by a roofline.
    memory_bandwidth:
        GB/s of an NPU's memory.
    rows:
        Most rows of the table of collectives. JSON has all.
    json_:
        Print one JSON object and nothing else.
    """
    from evo_libra.ui.workload import show_command  # noqa: PLC0415 - see the top

    return show_command(trace, peak=peak, memory_bandwidth=memory_bandwidth, rows=rows, as_json=json_)


app.register_install_completion_command(add_to_startup=False)
