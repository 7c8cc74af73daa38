"""The front of a result evaluated again: under another model of time, or under uncertain prices of parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from evo_libra.errors import InputError, counted
from evo_libra.explain.labels import label_of, noun, per_what
from evo_libra.named_code import trust_files
from evo_libra.network.transport import approximation
from evo_libra.quantities import number, time_unit
from evo_libra.ui.commands.shared import (
    FrontRows,
    Json,
    MoreAssignments,
    MovedProblem,
    RunName,
    TrustCode,
    app,
    check_min,
)
from evo_libra.ui.tables.named_runs import given_of, problem_file, problem_of_result, run_folder
from evo_libra.ui.tables.output import new_console, print, print_folded, print_json, print_styled, print_table

if TYPE_CHECKING:
    from evo_libra.experiment.run.origin import Origin
    from evo_libra.experiment.store.folder import RunFolder
    from evo_libra.explain.prices import Priced, Score
    from evo_libra.explain.rescore import Rescored
    from evo_libra.explain.verdict_record import Verdict
    from evo_libra.front.front import Front
    from evo_libra.pictures.plots.series import Series
    from evo_libra.problem.problem import Problem

_PRICES = "prices.parquet"
_MAX_SCENARIOS = 100_000
_MILLION = 1e6
_ORDER_COST = "order_cost_usd"


@app.command
def rescore(
    result: RunName,
    *,
    time: str,
    problem: MovedProblem = None,
    assignments: MoreAssignments = (),
    rows: FrontRows = 12,
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> int:
    """Evaluate the front of a result under another time model: which designs change rank, which stay on the front.

    Parameters
    ----------
    time:
        The other time model.
    """
    from evo_libra.explain.as_json import as_json as plain
    from evo_libra.explain.rescore import outside_bands
    from evo_libra.explain.rescore import rescore as rescored
    from evo_libra.front.front import time_of
    from evo_libra.problem.designs import warnings_of
    from evo_libra.problem.file.registry import with_time
    from evo_libra.timing.quirks import Warned

    trust_files(allowed=trust_code)
    folder, front, origin, searched = _searched(result, problem)
    if not time_of(front.objectives):
        raise InputError(f"the front of {folder.path} has no time to compare with")
    other = _under(origin, with_time(searched, time), assignments, time)
    found = rescored(front, other)
    warnings = warnings_of(other, found.rescored)
    file = f"rescored-{time}.parquet"
    folder.write(file, found.frame.write_parquet)
    before, now = _verdicts(front, found, searched, other)
    outside = outside_bands(front, found)
    if as_json:
        print_json({
            "verdict": plain(now), "verdict_before": plain(before), "outside_bands": outside,
            "result": str(folder.path), "question": front.noun, "time": other.spec["time"],
            "agreement": found.agreement, "dropped": list(found.dropped), "warnings": list(map(Warned.json, warnings)),
            "designs": found.frame, "rescored": str(folder.path / file),
        })  # fmt: skip
    else:
        _show_times(found, front, searched, other, rows)
        print_folded(*_judged(before, now, outside, _model(searched), _model(other)), *warnings)
        print(f"rescored  {folder.path / file}")
    return 0


@app.command
def prices(
    result: RunName,
    *,
    scenarios: int = 1000,
    seed: int = 0,
    score: Literal["mean", "worst", "regret"] = "mean",
    problem: MovedProblem = None,
    assignments: MoreAssignments = (),
    rows: FrontRows = 12,
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> int:
    """Evaluate the front of a result under uncertain prices: costs of designs, and which stay on the front.

    Parameters
    ----------
    scenarios:
        Scenarios to draw; in each every part has one price of its range, with the stated one as the likeliest.
    seed:
        Seed of the draws.
    score:
        Comparison of designs: by mean cost, worst cost, or regret (extra cost over the cheapest that is no slower).
    """
    from evo_libra.experiment.run.origin import build, with_assignments
    from evo_libra.explain.prices import price_front

    trust_files(allowed=trust_code)
    if not 1 <= scenarios <= _MAX_SCENARIOS:
        raise InputError(f"--scenarios: found {scenarios}; it must be from 1 to {_MAX_SCENARIOS:,}")
    check_min("seed", seed, 0)
    folder, front, origin, priced = _searched(result, problem)
    if assignments:
        priced = problem_file(build(with_assignments(origin, assignments)))
    found = price_front(front, priced, scenarios, seed, score)
    folder.write(_PRICES, found.frame.write_parquet)
    if as_json:
        print_json({
            "result": str(folder.path), "question": front.noun, "score": score, "scenarios": scenarios, "seed": seed,
            "designs": found.frame, "prices": str(folder.path / _PRICES),
            **approximation(front.frame["design"].to_list()),
        })  # fmt: skip
    else:
        _show_prices(found, score, rows)
        what = "part" if priced.book is None else "product"
        print(f"\n{counted(scenarios, 'scenario')} of {counted(len(found.parts), what)}, seed {seed}")
        _show_changes(found, score)
        if "system_cost_usd" in front.objectives:
            print_folded(
                "These are costs of the network. Prices of NPUs have no part in them; the key `uncertainty` of the "
                "problem file varies both."
            )
        print_folded(*approximation(front.frame["design"].to_list()).values())
        print(f"prices  {folder.path / _PRICES}")
    return 0


def _searched(result: RunName, problem: str | None) -> tuple[RunFolder, Front, Origin, Problem]:
    """Return the folder of a result, its front, where its problem comes from, and the problem."""
    from evo_libra.experiment.store.folder import RunFolder

    folder = RunFolder(run_folder(result))
    front = folder.read_front()
    if not len(front):
        raise InputError(f"the front of {folder.path} is empty")
    origin, found = problem_of_result(folder, problem, given_of(folder))
    return folder, front, origin, problem_file(found)


def _under(origin: Origin, timed: Sequence[str], assignments: Sequence[str], model: str) -> Problem:
    from evo_libra.experiment.run.origin import build, with_assignments

    try:
        return problem_file(build(with_assignments(origin, [*timed, *assignments])))
    except InputError as error:
        message = str(error)
        for assignment in timed:  # which stand for the option, and no user has written
            message = message.replace(f"--set {assignment}", f"--time {model}")
        raise InputError(message) from None


def _verdicts(
    front: Front, found: Rescored, searched: Problem, other: Problem
) -> tuple[Verdict | None, Verdict | None]:
    """Return the verdicts under the time before and the one now; None where no design is on the front."""
    from evo_libra.explain.candidates import candidates_of
    from evo_libra.explain.hour_price import hour_price
    from evo_libra.explain.rescore import rescored_front
    from evo_libra.explain.verdict import names_of, verdict_of

    each = ((front, searched), (rescored_front(front, found), other))
    priced = [(one, hour_price(problem, one.frame["design"].to_list())) for one, problem in each]
    before, now = (verdict_of(candidates_of(one), price, names_of(one)) if len(one) else None for one, price in priced)
    return before, now


def _judged(before: Verdict | None, now: Verdict | None, outside: int | None, model: str, other: str) -> Iterator[str]:
    """Yield the verdict under the other time, whether it is the one before, and what bands say of the two times."""
    if now is not None and before is not None:
        same = "as" if now.id == before.id else "not as"
        yield f"Under {other}: {now.sentences[0]}"
        yield f"That is {same} under {model}, which says: Buy #{before.id}."
    if outside:
        where = "is outside its band" if outside == 1 else "are outside their bands"
        yield f"{counted(outside, 'time')} under {other} {where}. Measured steps are compared with LIBRA's time alone."


def _plot(series: Sequence[Series], time: str, cost: str = "cost_usd") -> None:
    from evo_libra.pictures.plots.scatter import terminal_scatter

    print_styled(terminal_scatter(series, label_of(cost), label_of(time), new_console()))


def _model(problem: Problem) -> str:
    time = problem.spec["time"]
    return time if isinstance(time, str) else str(time["model"])


def _show_times(found: Rescored, front: Front, problem: Problem, other: Problem, rows: int) -> None:
    import numpy as np

    from evo_libra.front.front import Front, time_of
    from evo_libra.pictures.plots.series import Series

    before, after, name = _model(problem), _model(other), noun(time_of(front.objectives))
    if before == after:
        before, after = f"{before} (run)", f"{after} (now)"
    frame, column = found.frame, time_of(front.objectives)
    times = [frame[name].to_numpy() for name in (column, f"{column}_rescored")]
    if "cost_usd" in front.objectives:
        cost = frame["cost_usd"].to_numpy()
        _plot([Series(cost, time, label) for time, label in zip(times, (before, after), strict=True)], column)
    shown = Front(frame, front.objectives).spread(rows)
    unit, size = time_unit(float(np.median(times[1])))
    shape = "order" if front.noun == "order" else "network"
    print_table(
        f"{len(shown)} of {counted(len(front), front.noun)}; rank 1 is the fastest",
        ("id", *(f"{what}\n{model}" for what in (f"{name} [{unit}]", "rank") for model in (before, after)),
         "on\nfront", shape),
        [_time_cells(row, column, size) for row in shown.to_dicts()],
        left=(shape,), fold=(shape,),
    )  # fmt: skip
    ratio = times[1] / times[0]
    print(f"\n{name} under {after} is {ratio.min():.4g} to {ratio.max():.4g} times that under {before}, median "
          f"{np.median(ratio):.4g}")  # fmt: skip
    if found.agreement is not None:
        moved = int((frame["rank"] != frame["rank_rescored"]).sum())
        print(f"order by {name}: Kendall's tau {found.agreement:.4f}; {moved:,} of {len(front):,} change their rank")
    if np.allclose(ratio, 1, rtol=1e-12, atol=0):
        print("both times are the same: nothing can have changed")
    if found.dropped:
        print(f"{after} does not offer what some designs say of {', '.join(found.dropped)}; it has its own instead")
    if problem.pricing.kits and problem.optimal and not other.optimal:
        print(f"bandwidths were solved for; what is not in whole ports cannot be built and is infeasible under {after}")
    print(f"on the front under {after}: {int(frame['on_front'].sum()):,} of {counted(len(front), front.noun)}")


def _time_cells(row: Mapping[str, Any], column: str, size: float) -> list[str]:
    from evo_libra.front.families import short_network

    kept = "yes" if row["on_front"] else "no" if row["feasible"] else "infeasible"
    times = [number(row[name] / size) for name in (column, f"{column}_rescored")]
    return [str(row["id"]), *times, str(row["rank"]), str(row["rank_rescored"]), kept, short_network(row["design"])]


def _show_prices(found: Priced, score: Score, rows: int) -> None:
    import numpy as np

    from evo_libra.front.front import Front, time_of
    from evo_libra.pictures.plots.series import Series

    frame, time_column = found.frame, time_of(found.frame.columns)
    kept, time = frame["on_front"].to_numpy(), frame[time_column].to_numpy()
    column = "cost_value_usd" if score == "regret" else f"{score}_usd"
    label = "least regret, stated prices" if score == "regret" else score
    bands = [Series(frame[f"cost_{end}_usd"].to_numpy(), time, end) for end in ("low", "high")]
    shares = "front_share" in frame.columns
    _plot([*bands, Series(frame[column].to_numpy()[kept], time[kept], label)], time_column, found.money)
    shown = Front(frame, (time_column, "cost_value_usd")).spread(rows)
    unit, size = time_unit(float(np.median(time)))
    last = ["as a\nfactor"] if score == "regret" else ["rank", f"by\n{score}"]
    whole = found.money in ("cost_usd", _ORDER_COST)
    what = f"million USD{' of the whole order' * shares}" if whole else f"USD{per_what(found.money)}"
    of = f"{counted(frame.height, 'order' if shares else 'design')}, {what}"
    print_table(
        f"{len(shown)} of {of}; rank 1 is the least",
        [
            "id",
            f"{noun(time_column)}\n[{unit}]",
            "low",
            "as\nstated",
            "high",
            score,
            *last,
            "on\nfront",
            *(["draws\n[%]"] if shares else []),
        ],
        [_price_cells(row, score, row[time_column] / size, _MILLION if whole else 1.0) for row in shown.to_dicts()],
    )


def _show_changes(found: Priced, score: Score) -> None:
    frame = found.frame
    if score != "regret":
        moved = int((frame["rank"] != frame["rank_scored"]).sum())
        print(f"order by cost: {moved:,} of {frame.height:,} change their rank")
    name = "order" if "front_share" in frame.columns else "design"
    print(f"on the front by {score}: {int(frame['on_front'].sum()):,} of {counted(frame.height, name)}")


def _price_cells(row: Mapping[str, Any], score: Score, time: float, usd: float) -> list[str]:
    names = ("cost_low_usd", "cost_value_usd", "cost_high_usd", f"{score}_usd")
    costs = [f"{row[name] / usd:.4g}" for name in names]
    share = [f"{100 * row['front_share']:.4g}"] if "front_share" in row else []
    factor = "" if row["regret_factor"] is None else f"{row['regret_factor']:.4f}"
    last = [factor] if score == "regret" else [str(row["rank"]), str(row["rank_scored"])]
    return [str(row["id"]), number(time), *costs, *last, "yes" if row["on_front"] else "no", *share]
