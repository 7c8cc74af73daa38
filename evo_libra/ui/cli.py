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
Assignments = Annotated[list[str] | None, Parameter(name="--set", negative="")]


def main() -> None:
    """Run the command line; the exit code is 0 done, 1 failed or infeasible, 2 wrong input, 130 interrupted."""
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
def search(
    problem: str,
    *,
    engine: str | None = None,
    evaluations: int | None = None,
    population: int | None = None,
    seed: int | None = None,
    out: Path = Path("results"),
    resume: Annotated[bool, Parameter(negative="")] = False,
    set_: Assignments = None,
    json_: Json = False,
) -> int:
    """Search a problem for its Pareto front and keep it in a folder of results.

    Parameters
    ----------
    problem:
        Path of a problem file, name of a problem, or module:object.
    engine:
        nsga2, nsga3, random or exhaustive.
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
    set_:
        KEY=VALUE, replaces a value of the problem file; may be repeated.
    json_:
        Print one JSON object and nothing else.
    """
    from evo_libra.ui.commands import search_command  # noqa: PLC0415 - see the top

    options = {"engine": engine, "evaluations": evaluations, "population": population, "seed": seed}
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
def schema() -> int:
    """Print the JSON Schema of problem files, for editors."""
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
