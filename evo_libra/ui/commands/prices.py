"""The command that looks at a front under uncertain prices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from evo_libra.errors import InputError, counted
from evo_libra.experiment.store.folder import RunFolder
from evo_libra.front.front import Front
from evo_libra.front.prices import Priced, Score, price_front
from evo_libra.ui.commands.proofs import given_of, origin_of_result, problem_from
from evo_libra.ui.output import new_console, print_styled
from evo_libra.ui.plots.axes import Series
from evo_libra.ui.plots.pictures import terminal_scatter
from evo_libra.ui.texts import number, print_json, run_folder, time_unit

_FILE = "prices.parquet"
_MOST_SCENARIOS = 100_000
_MILLION = 1e6


def prices_command(
    result: Path,
    options: Mapping[str, int],
    score: Score,
    name: str | None,
    assignments: Sequence[str],
    *,
    trust_code: bool = False,
    as_json: bool,
) -> int:
    """Price the front of a result in scenarios, and keep what came of it."""
    for key, least, most in (("scenarios", 1, _MOST_SCENARIOS), ("seed", 0, 2**63 - 1), ("rows", 1, 2**63 - 1)):
        if not least <= options[key] <= most:
            limit = f"from {least} to {most:,}" if key == "scenarios" else f"at least {least}"
            raise InputError(f"--{key}: found {options[key]}; it must be {limit}")
    result = run_folder(result)
    folder = RunFolder(result)
    front = folder.read_front()
    if not len(front):
        raise InputError(f"the front of {result} is empty")
    problem = problem_from(origin_of_result(folder, name, given_of(folder), trust_code=trust_code), assignments)
    found = price_front(front, problem, options["scenarios"], options["seed"], score)
    folder.write(_FILE, found.frame.write_parquet)
    if as_json:
        print_json({
            "result": str(result), "score": score, "scenarios": options["scenarios"], "seed": options["seed"],
            "designs": found.frame.to_dicts(), "prices": str(result / _FILE),
        })  # fmt: skip
    else:
        _show(found, score, options)
        print(f"prices  {result / _FILE}")
    return 0


def _show(found: Priced, score: Score, options: Mapping[str, int]) -> None:
    frame, console = found.frame, new_console()
    kept = frame["on_front"].to_numpy()
    column = "cost_value_usd" if score == "regret" else f"{score}_usd"
    label = "least regret, stated prices" if score == "regret" else score
    bands = [("cost_low_usd", "low"), ("cost_high_usd", "high")]
    time = frame["time_ms"].to_numpy()
    series = [Series(frame[name].to_numpy(), time, text) for name, text in bands]
    series.append(Series(frame[column].to_numpy()[kept], time[kept], label))
    print_styled(terminal_scatter(series, "network cost [USD]", "iteration time [ms]", console))
    shown = Front(frame, ("time_ms", "cost_value_usd")).spread(options["rows"])
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
    print(
        f"\n{counted(options['scenarios'], 'scenario')} of {counted(len(found.parts), 'part')}, seed {options['seed']}"
    )
    if score != "regret":
        moved = int((frame["rank"] != frame["rank_scored"]).sum())
        print(f"order by cost: {moved:,} of {frame.height:,} change their rank")
    print(f"on the front by {score}: {int(kept.sum()):,} of {counted(frame.height, 'design')}")


def _cells(row: Mapping[str, Any], score: Score, size: float) -> list[str]:
    names = ("cost_low_usd", "cost_value_usd", "cost_high_usd", f"{score}_usd")
    costs = [f"{row[name] / _MILLION:.4g}" for name in names]
    factor = "" if row["regret_factor"] is None else f"{row['regret_factor']:.4f}"
    last = [factor] if score == "regret" else [str(row["rank"]), str(row["rank_scored"])]
    return [str(row["id"]), number(row["time_ms"] / size), *costs, *last, "yes" if row["on_front"] else "no"]
