"""A front under uncertain prices of parts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from evo_libra.errors import InputError, counted
from evo_libra.ui.commands.named_runs import given_of, origin_of_result, problem_from, run_folder
from evo_libra.ui.commands.shared import Assignments, Json, TrustCode, app, check_least
from evo_libra.ui.output import new_console, print_styled
from evo_libra.ui.texts import number, print_json, time_unit

if TYPE_CHECKING:
    from evo_libra.front.prices import Priced, Score


_FILE = "prices.parquet"
_MOST_SCENARIOS = 100_000
_MILLION = 1e6


@app.command
def prices(
    result: Path,
    *,
    scenarios: int = 1000,
    seed: int = 0,
    score: Literal["mean", "worst", "regret"] = "mean",
    problem: str | None = None,
    assignments: Assignments = (),
    rows: int = 12,
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> int:
    """Look at the front of a result under uncertain prices of parts: what designs cost, which stay on the front.

    Parameters
    ----------
    result:
        Folder of a run on a catalogue of parts, or one with a single run in it; or a part of its name.
    scenarios:
        Scenarios to draw; in each every part has one price of its range, with the stated one as the likeliest.
    seed:
        Seed of the draws.
    score:
        How designs are compared: by mean cost, worst cost, or regret (extra cost over the cheapest that is no slower).
    problem:
        The problem, if its file is no longer where the run found it.
    assignments:
        KEY=VALUE, on top of those of the run, such as fabric.catalog=other.yaml; may be repeated.
    rows:
        Rows of the table, at most; they are spread along the front. JSON has all designs.
    trust_code:
        Run the code of a problem that the result names as module:object.
    as_json:
        Print one JSON object and nothing else.
    """
    from evo_libra.experiment.store.folder import RunFolder
    from evo_libra.front.prices import price_front

    if not 1 <= scenarios <= _MOST_SCENARIOS:
        raise InputError(f"--scenarios: found {scenarios}; it must be from 1 to {_MOST_SCENARIOS:,}")
    check_least("seed", seed, 0)
    check_least("rows", rows)
    folder = RunFolder(run_folder(result))
    front = folder.read_front()
    if not len(front):
        raise InputError(f"the front of {folder.path} is empty")
    origin = origin_of_result(folder, problem, given_of(folder), trust_code=trust_code)
    found = price_front(front, problem_from(origin, assignments), scenarios, seed, score)
    folder.write(_FILE, found.frame.write_parquet)
    if as_json:
        print_json({
            "result": str(folder.path), "score": score, "scenarios": scenarios, "seed": seed,
            "designs": found.frame.to_dicts(), "prices": str(folder.path / _FILE),
        })  # fmt: skip
    else:
        _show(found, score, rows)
        print(f"\n{counted(scenarios, 'scenario')} of {counted(len(found.parts), 'part')}, seed {seed}")
        _show_changes(found, score)
        print(f"prices  {folder.path / _FILE}")
    return 0


def _show(found: Priced, score: Score, rows: int) -> None:
    import numpy as np
    from rich.table import Table
    from rich.text import Text

    from evo_libra.front.front import Front
    from evo_libra.ui.plots.axes import Series
    from evo_libra.ui.plots.pictures import terminal_scatter

    frame, console = found.frame, new_console()
    kept = frame["on_front"].to_numpy()
    column = "cost_value_usd" if score == "regret" else f"{score}_usd"
    label = "least regret, stated prices" if score == "regret" else score
    bands = [("cost_low_usd", "low"), ("cost_high_usd", "high")]
    time = frame["time_ms"].to_numpy()
    series = [Series(frame[name].to_numpy(), time, text) for name, text in bands]
    series.append(Series(frame[column].to_numpy()[kept], time[kept], label))
    print_styled(terminal_scatter(series, "network cost [USD]", "iteration time [ms]", console))
    shown = Front(frame, ("time_ms", "cost_value_usd")).spread(rows)
    title = f"{len(shown)} of {counted(frame.height, 'design')}, million USD; rank 1 is the least"
    table = Table(title=title, title_justify="left")
    last = ["as a\nfactor"] if score == "regret" else ["rank", f"rank by\n{score}"]
    unit, size = time_unit(float(np.median(time)))
    heads = ["id", f"time [{unit}]", "low", "as\nstated", "high", score, *last, "on\nfront"]
    for head in heads:
        table.add_column(head, justify="right", no_wrap=True)
    for row in shown.to_dicts():
        table.add_row(*map(Text, _cells(row, score, size)))
    console.print(table)


def _show_changes(found: Priced, score: Score) -> None:
    frame = found.frame
    if score != "regret":
        moved = int((frame["rank"] != frame["rank_scored"]).sum())
        print(f"order by cost: {moved:,} of {frame.height:,} change their rank")
    print(f"on the front by {score}: {int(frame['on_front'].sum()):,} of {counted(frame.height, 'design')}")


def _cells(row: Mapping[str, Any], score: Score, size: float) -> list[str]:
    names = ("cost_low_usd", "cost_value_usd", "cost_high_usd", f"{score}_usd")
    costs = [f"{row[name] / _MILLION:.4g}" for name in names]
    factor = "" if row["regret_factor"] is None else f"{row['regret_factor']:.4f}"
    last = [factor] if score == "regret" else [str(row["rank"]), str(row["rank_scored"])]
    return [str(row["id"]), number(row["time_ms"] / size), *costs, *last, "yes" if row["on_front"] else "no"]
