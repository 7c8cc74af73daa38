"""The table of bands that ships, from the rows of all sources; run as a module, this writes it.

A class is accelerator, precision, dense or routed, and schedule. Its band is `intervals.interval_of` its rows. If a
design's class has none, the nearest one stands for it; the band is wider by the root mean square of the difference
between the mean errors of classes that differ in the same aspect alone. An aspect without such a pair takes the largest
difference that is known.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from evo_libra.problem.measured import ASPECTS, TABLE
from evo_libra.validation.intervals import CHANCE, Residual, Sample, interval_of, pooled_variance, sample_of, used
from evo_libra.validation.source import Basis, PublishedRow, PublishedSource
from evo_libra.workload.plans.step_class import TIME, StepClass

_QUANTILE = 1.2816
"""Of the normal distribution: 80 % of it lie within this number of standard deviations."""
_DIGITS = 4
ABOUT = (
    "Factors on computed figures between which four of five measured ones lie, by what is bought; made by "
    "`python -m evo_libra.validation.measured_bands`, whose text says how"
)

Key = tuple[str, StepClass]
Members = Mapping[Key, Sequence[tuple[PublishedRow, Residual]]]


def members_of(computed: Mapping[PublishedSource, Iterable[PublishedRow]]) -> Members:
    """Return the rows of each figure of each class, with their errors."""
    found: dict[Key, list[tuple[PublishedRow, Residual]]] = {}
    for source, rows in computed.items():
        for row in rows:
            if row.step is not None:
                error = Residual(math.log(row.ratio), (source.name, row.model), source.basis is Basis.FITTED)
                found.setdefault((row.figure, row.step), []).append((row, error))
    return found


def samples_of(members: Members) -> dict[Key, Sample]:
    """Return the errors of each class that its band is from."""
    return {key: sample_of(used(error for _, error in pairs)) for key, pairs in members.items()}


def prior_of(key: Key, samples: Mapping[Key, Sample]) -> float:
    """Return the variance within all classes of a figure and schedule; of the figure where these have none."""
    figure, step = key
    of_figure = {(step.schedule, step): one for (name, step), one in samples.items() if name == figure}
    mine = pooled_variance(one for (schedule, _), one in of_figure.items() if schedule == step.schedule)
    return mine if mine is not None else pooled_variance(of_figure.values()) or 0.0


def interval(key: Key, samples: Mapping[Key, Sample]) -> tuple[float, float]:
    """Return the band of a class."""
    low, high = interval_of(samples[key], prior_of(key, samples))
    return round(low, _DIGITS), round(high, _DIGITS)


def offsets_of(samples: Mapping[Key, Sample]) -> list[dict[str, Any]]:
    """Return by how much errors of classes differ that differ in one aspect, of each figure."""
    kinds = dict.fromkeys((figure, step.is_served) for figure, step in samples)
    known = {kind: {aspect: _apart(samples, kind, aspect) for aspect in ASPECTS} for kind in kinds}
    return [_offsets(kind, known) for kind in kinds]


Kind = tuple[str, bool]
Differences = Mapping[Kind, Mapping[str, float | None]]


def _offsets(kind: Kind, known: Differences) -> dict[str, Any]:
    differences = {
        aspect: _stand_in(known, kind, aspect) if one is None else one for aspect, one in known[kind].items()
    }
    return {
        "figure": kind[0], "served": kind[1],
        "factors": {aspect: round(math.exp(_QUANTILE * one), _DIGITS) for aspect, one in differences.items()},
        "without_pairs": [aspect for aspect, one in known[kind].items() if one is None],
    }  # fmt: skip


def _apart(samples: Mapping[Key, Sample], kind: Kind, aspect: str) -> float | None:
    """Return the root mean square of differences between classes that differ in one aspect; None without a pair."""
    mine = [(step, one.mean) for (figure, step), one in samples.items() if (figure, step.is_served) == kind]
    differences = [
        a - b for (one, a), (other, b) in combinations(mine, 2)
        if [name for name in ASPECTS if getattr(one, name) != getattr(other, name)] == [aspect]
    ]  # fmt: skip
    return float(np.sqrt(np.mean(np.square(differences)))) if differences else None


def _stand_in(known: Differences, kind: Kind, aspect: str) -> float:
    """Return the largest difference of a figure, or that of steps of training in the aspect if that is larger."""
    mine = [value for value in known[kind].values() if value is not None]
    trained = known.get((TIME, False), {}).get(aspect)
    return max([*mine, *([trained] if trained is not None else [])], default=0.0)


def table_of(computed: Mapping[PublishedSource, Iterable[PublishedRow]]) -> dict[str, Any]:
    """Return the table as plain data."""
    members = members_of(computed)
    samples = samples_of(members)
    classes = [_class_of(key, samples, members) for key in sorted(members)]
    return {"about": ABOUT, "chance": CHANCE, "classes": classes, "offsets": offsets_of(samples)}


def _class_of(key: Key, samples: Mapping[Key, Sample], members: Members) -> dict[str, Any]:
    figure, step = key
    kept = used(error for _, error in members[key])
    years = [row.year for row, error in members[key] if error in kept]
    low, high = interval(key, samples)
    return {
        "figure": figure, **{aspect: getattr(step, aspect) for aspect in ASPECTS}, "low": low, "high": high,
        "rows": len(kept), "series": samples[key].series, "years": [min(years), max(years)],
        "basis": (Basis.FITTED if kept[0].fitted else Basis.UNSEEN).value,
    }  # fmt: skip


def text_of(table: Mapping[str, Any]) -> str:
    """Return the table as JSON, a class in each line."""
    return "".join(_lines(table))


def _lines(table: Mapping[str, Any]) -> Iterator[str]:
    yield "{\n"
    for name in ("about", "chance"):
        yield f'  "{name}": {json.dumps(table[name])},\n'
    for name, end in (("classes", ","), ("offsets", "")):
        rows = ",\n".join(f"    {json.dumps(row)}" for row in table[name])
        yield f'  "{name}": [\n{rows}\n  ]{end}\n'
    yield "}\n"


def write() -> None:
    """Compute the rows of all sources, and write the table next to the module that reads it."""
    from evo_libra.validation.sources import SOURCES  # noqa: PLC0415 - the table needs no sources

    TABLE.write_text(text_of(table_of({source: tuple(source.rows()) for source in SOURCES})))


if __name__ == "__main__":
    write()
