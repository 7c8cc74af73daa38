"""The user's choice, and its consequences with the store for every part of the screen."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from evo_libra.errors import InputError
from evo_libra.experiment.run.record import RunRecord, ending_text
from evo_libra.experiment.store.messages import Progress
from evo_libra.ui.terminal.details import Design
from evo_libra.ui.terminal.plot_view import MAX_FRONTS, Picture, PlotView, Points, picture_of
from evo_libra.ui.terminal.queue_view import (
    GLYPHS,
    overall,
    short_count,
    short_time,
    sort_name,
    summary,
)
from evo_libra.ui.terminal.session import RunData, Scene, Wanted

if TYPE_CHECKING:
    from evo_libra.front.front import Front

Tab = Literal["design", "network", "front", "log"]
_SMALLEST = 1e-300
_RECENT = 5.0  # Seconds over which the rate of a run is taken.


@dataclass(frozen=True)
class State:
    """The user's choice.

    Attributes
    ----------
    query, sort : which runs are listed, and in which order.
    part : a query that chooses designs of the selected run; empty for all.
    run, marked : id of the selected run, and those of the runs that are plotted next to it.
    design : objectives of the selected design; None for the knee of the front.
    baseline : what designs are compared with; None for equal bandwidths.
    frozen : whether the display stands still.
    """

    query: str = ""
    sort: str = "id"
    part: str = ""
    run: str = ""
    marked: tuple[str, ...] = ()
    design: Mapping[str, float] | None = None
    baseline: Design | None = None
    plot: PlotView = field(default_factory=PlotView)
    tab: Tab = "design"
    frozen: bool = False


def wanted(state: State) -> Wanted:
    """Return what has to be read for a state."""
    shown = (state.run, *(run for run in state.marked if run != state.run)) if state.run else state.marked
    return Wanted(state.query, state.sort, shown[:MAX_FRONTS], log=state.tab == "log")


def settled(state: State, scene: Scene) -> State:
    """Return the state with a selected run that is listed, where any is, and without marks of runs that are gone."""
    known, listed = {run.id for run in scene.every}, [run.id for run in scene.runs]
    marked = tuple(run for run in state.marked if run in known)
    run = state.run if state.run in listed or not listed else _first(scene, opened=not state.run)
    run = run if run in known else ""
    return state if (run, marked) == (state.run, state.marked) else replace(state, run=run, marked=marked)


def _first(scene: Scene, *, opened: bool) -> str:
    """Return the run to begin with: the first one at work where the UI has just been opened, else the first one."""
    working = (run.id for run in scene.runs if opened and run.status == "running")
    return next(working, scene.runs[0].id)


def with_mark(state: State, run_id: str) -> State:
    """Return the state with a run marked, or not any more; raise an InputError for more than colours can tell apart."""
    if run_id in state.marked:
        return replace(state, marked=tuple(run for run in state.marked if run != run_id))
    if len(state.marked) >= MAX_FRONTS - 1:
        raise InputError(f"{MAX_FRONTS - 1} runs are marked; more could not be distinguished; unmark one first")
    return replace(state, marked=(*state.marked, run_id))


def selected_run(state: State, scene: Scene) -> RunRecord | None:
    """Return the selected run, or None where there is none."""
    return next((run for run in scene.every if run.id == state.run), None)


def selected_data(state: State, scene: Scene) -> RunData:
    """Return what is known of the selected run; of a part of its designs where some are chosen."""
    data = scene.data.get(state.run, RunData())
    return data if data.front is None or not state.part else _part_of(data, state.part)


@lru_cache(maxsize=8)
def _part_of(data: RunData, query: str) -> RunData:
    """Return the data with the designs that fit a query; a note says that none fits, or that there is no column."""
    from evo_libra.front.selection import chosen

    assert data.front is not None, "the caller has looked"  # noqa: S101 - internal error
    try:
        part = chosen(data.front, query)
    except InputError as error:
        return replace(data, note=str(error), front=None, values={})
    part = replace(part, frame=part.frame.select(data.front.frame.columns))
    kept = data.front.frame["id"].is_in(part.frame["id"].implode()).to_numpy()
    values = {column: found[kept] for column, found in data.values.items()}
    return replace(data, note="" if len(part) else f"no {part.noun} fits {query}", front=part, values=values)


def design_index(state: State, data: RunData) -> int | None:
    """Return the row of the selected design, or of the one that is the nearest to it by now; the knee where none is.

    The knee is that of `evo_libra.explain.recommend.knee`.
    """
    if data.front is None or not len(data.front):
        return None
    import numpy as np

    values = np.maximum(list(data.values.values()), _SMALLEST)
    if state.design is None or not data.values.keys() <= state.design.keys():
        from evo_libra.explain.recommend import knee

        return knee(values)
    values = np.log10(values)
    low, high = values.min(axis=1), values.max(axis=1)
    goal = np.log10([max(state.design[column], _SMALLEST) for column in data.values])
    scaled = (values - goal[:, None]) / np.where(high > low, high - low, 1.0)[:, None]
    return int(np.argmin((scaled * scaled).sum(axis=0)))


def with_design(state: State, front: Front, index: int) -> State:
    """Return the state with a row of the front selected; those beyond its ends are the ends."""
    row = front.frame.row(min(max(index, 0), len(front) - 1), named=True)
    return replace(state, design={column: float(row[column]) for column in front.objectives})


def selected_design(state: State, scene: Scene) -> Design | None:
    """Return the selected design."""
    data = selected_data(state, scene)
    front, index = data.front, design_index(state, data)
    if front is None or index is None:
        return None
    row = front.frame.row(index, named=True)
    name = f"{front.noun} {row['id']} of {len(front):,}"
    values = {column: float(row[column]) for column in front.objectives}
    return Design(state.run, name, values, str(row.get("design", "")), data.subject, ends=front.ends(row))


def picture(state: State, scene: Scene) -> Picture:
    """Return what the plot shows."""
    styles = run_styles(state)
    own = selected_data(state, scene)
    shown = [(run, own if run == state.run else scene.data[run]) for run in scene.shown if run in scene.data]
    design = selected_design(state, scene)
    fronts = [Points(_label(state, scene, at), styles.get(at, 0), data.values, data.designs) for at, data in shown]
    systems = systems_of(shown[0][1]) if len(shown) == 1 else []
    fronts = systems or fronts
    return picture_of(
        state.plot,
        [*fronts, *reference_points(own, [front.style for front in fronts])],
        whole=shown[0][1].values if systems else None,
        selected=design.objectives if design else None,
        baseline=state.baseline.objectives if state.baseline else None,
        message=own.note or ("" if scene.every else "no runs yet"),
    )


def systems_of(data: RunData) -> list[Points]:
    """Return the front of a run of orders as points of each system; none of designs, or of more systems than styles."""
    from evo_libra.front.families import families_of

    if data.front is None or data.front.noun != "order":
        return []
    systems = families_of(data.front)
    if len(systems) > MAX_FRONTS:
        return []
    return [
        Points(name, style, {key: values[systems.of == style] for key, values in data.values.items()}, data.designs)
        for style, name in enumerate(systems.names)
    ]


def reference_points(data: RunData, styles: Sequence[int]) -> list[Points]:
    """Return the reference designs of a run as points, in styles that are free; they share one where few are left."""
    free, named = [style for style in range(MAX_FRONTS) if style not in styles], list(data.references)
    if not free or not named:
        return []
    import numpy as np

    groups = [[one] for one in named] if len(named) <= len(free) else [named]
    return [
        Points(
            ", ".join(name for name, _ in group),
            style,
            {column: np.array([figures[column] for _, figures in group]) for column in group[0][1]},
            {},
        )
        for style, group in zip(free, groups, strict=False)
    ]


def _label(state: State, scene: Scene, run_id: str) -> str:
    """Return the name of a plotted run, and why its front is not to be ranked against that of the selected one."""
    name = scene.names[run_id]
    selected = scene.data.get(state.run)
    if selected is None or run_id == state.run:
        return name
    from evo_libra.experiment.results.comparison import unlike

    reason = unlike(selected.subject, scene.data[run_id].subject)
    return f"{name} ({reason})" if reason else name


def run_styles(state: State) -> dict[str, int]:
    """Return which colour and marker each plotted run has; marked runs keep theirs whichever is selected."""
    styles = {run: which for which, run in enumerate(state.marked)}
    return styles if state.run in styles else {**styles, state.run: len(styles)}


def title(results: str, scene: Scene, width: int, *, frozen: bool) -> str:
    """Return the first line of the screen, as much of it as there is room for."""
    end = ["frozen"] if frozen else []
    lines = [
        [f"evo-libra {results}/", summary(scene.every), *end],
        ["evo-libra", summary(scene.every), *end],
        [summary(scene.every), *end],
        [summary(scene.every, GLYPHS), *end],
    ]
    texts = [" · ".join(parts) for parts in lines]
    return next((text for text in texts if len(text) <= width), texts[-1])


def queue_title(state: State, scene: Scene) -> str:
    """Return the title of the list of runs."""
    some = f" {len(scene.runs):,} of {len(scene.every):,}" if state.query else ""
    return f"runs{some} by {sort_name(state.sort)}"


def queue_foot(scene: Scene) -> tuple[float, str]:
    """Return how much of the runs that are listed is done, and the words next to its bar."""
    share = overall(scene.runs)
    done = sum(run.status in ("done", "stale") for run in scene.runs)
    return share, f"{int(100 * share)} % · {done:,}/{len(scene.runs):,}"


def status_line(run: RunRecord | None, progress: Sequence[Progress], asked: str, width: int) -> str:
    """Return how far the selected run is and what it is asked for, as much of it as there is room for."""
    if run is None or run.status == "damaged":
        return "" if run is None else f"damaged: {run.error}"[:width]
    at_work = run.status in ("running", "queued", "interrupted")
    parts = [
        f"{run.status}, {asked} requested" if asked and at_work else run.status,
        *([run.error] if run.error else []),
    ]
    parts.append(f"{short_count(run.evaluations)} of {short_count(run.budget)} designs")
    rate = _rate(progress)
    if run.status == "running" and rate:
        parts.append(f"{short_time((run.budget - run.evaluations) / rate)} left")
    if run.evaluations:
        parts.append(f"front {run.front_size:,}")
    if run.hypervolume is not None:
        parts.append(f"HV {run.hypervolume:.4f}")
    if words := ending_text(run.ended, run.restarts):
        parts.append(words)
    if run.islands > 1:
        parts.append(f"{run.islands} islands")
    if run.status == "running" and rate:
        parts.append(f"{short_count(int(rate))}/s")
    elif run.wall_s:
        parts.append(short_time(run.wall_s))
    while len(parts) > 1 and len(" · ".join(parts)) > width:
        parts.pop()
    return " · ".join(parts)


def _rate(progress: Sequence[Progress]) -> float:
    if len(progress) < 2:  # noqa: PLR2004 - a rate needs two points
        return 0.0
    last = progress[-1]
    first = next((one for one in progress if one.seconds >= last.seconds - _RECENT), progress[0])
    first = progress[-2] if first is last else first
    return (last.evaluations - first.evaluations) / max(last.seconds - first.seconds, 1e-9)


def progress_of(run: RunRecord | None, progress: Sequence[Progress]) -> tuple[list[float], list[float], float]:
    """Return evaluations and hypervolume of a run as far as both are known, and its budget."""
    known = [one for one in progress if one.hypervolume is not None and math.isfinite(one.hypervolume)]
    end = max(run.budget if run else 0, known[-1].evaluations if known else 0)
    if run is not None and run.status in ("done", "stale") and known:
        end = known[-1].evaluations  # an exhausted search is done before its budget is
    return [float(one.evaluations) for one in known], [float(one.hypervolume or 0.0) for one in known], float(end)
