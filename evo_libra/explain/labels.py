"""Functions that return the figures of designs as texts, the same text wherever a figure is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evo_libra.network.orders.text import is_order
from evo_libra.quantities import money_text, number, time_text

if TYPE_CHECKING:
    from evo_libra.explain.time_record import Size


TOKEN_SECONDS = "time_per_Mtoken_s"  # noqa: S105 - a column
"""The column of a rate as its inverse, which is minimised."""


def noun(column: str) -> str:
    """Return the name of a column in words.

    >>> noun("cost_per_Mtoken_usd"), noun("tpot_ms")
    ('cost per Mtoken', 'tpot')
    """
    return column.rpartition("_")[0].replace("_", " ") or column


def per_what(column: str) -> str:
    """Return what the money of a column is paid for, with a space before it; nothing where it is the price of all.

    >>> per_what("cost_per_Mtoken_usd"), per_what("cost_usd"), per_what("tco_usd")
    (' per Mtoken', '', '')
    """
    return column.removeprefix("cost").removesuffix("_usd").replace("_", " ") if column.startswith("cost") else ""


def limit_text(column: str, limit: float) -> str:
    """Return a limit as people write it.

    >>> limit_text("cost_usd", 3e8), limit_text("time_ms", 5000.0), limit_text("power_kW", 70.0)
    ('cost <= 300 MUSD', 'time <= 5000 ms', 'power <= 70 kW')
    >>> limit_text("time_per_Mtoken_s", 0.2)
    'tokens/s >= 5 million'
    """
    if column == TOKEN_SECONDS:
        return f"tokens/s >= {_tokens_text(limit)}"
    return f"{noun(column)} <= {value_text(column, limit)}"


def reached_text(column: str, value: float) -> str:
    """Return a figure of a column as limits on it are written.

    >>> reached_text("training_days", 6.1), reached_text("time_per_Mtoken_s", 100.0)
    ('6.1 days', '10,000 tokens/s')
    """
    return f"{_tokens_text(value)} tokens/s" if column == TOKEN_SECONDS else value_text(column, value)


def best_text(column: str, value: float) -> str:
    """Return the best figure of a column that is minimised.

    >>> best_text("time_ms", 5.0), best_text("time_per_Mtoken_s", 100.0)
    ('the lowest time is 5 ms', 'the most tokens/s are 10,000')
    """
    if column == TOKEN_SECONDS:
        return f"the most tokens/s are {_tokens_text(value)}"
    return f"the lowest {noun(column)} is {value_text(column, value)}"


def _tokens_text(seconds: float) -> str:
    """Return the tokens of a second, of seconds of a million."""
    million = 1.0 / seconds
    return f"{number(million)} million" if million >= 1.0 else f"{1e6 * million:,.5g}"


def value_text(column: str, value: float) -> str:
    """Return a figure of a column with its unit.

    >>> value_text("cost_usd", 3.2e8), value_text("power_kW", 1234.5), value_text("system_power_kW", 28805.0)
    ('320 MUSD', '1234.5 kW', '28.805 MW')
    """
    if column.endswith("_ms"):
        return time_text(value)
    if column.endswith("_usd"):
        return money_text(value, 5)
    if column.endswith("_kW") and value >= _MANY_KILOWATTS:
        return f"{number(value / _KILO)} MW"
    return f"{number(value)} {column.rpartition('_')[2]}"


_KILO, _MANY_KILOWATTS = 1e3, 1e4


def interval_text(column: str, value: float, ends: tuple[float | None, float | None] | None) -> str:
    """Return a figure of a column with its unit, and the ends of its band where it has one.

    >>> interval_text("tpot_ms", 20.0, (18.0, 25.0)), interval_text("tpot_ms", 20.0, None)
    ('20 ms (18 ms to 25 ms)', '20 ms')
    """
    low, high = ends or (None, None)
    text = value_text(column, value)
    return text if low is None or high is None else f"{text} ({value_text(column, low)} to {value_text(column, high)})"


_PLAIN = ("time_ms", "cost_usd")
"""Columns whose figures need no name."""


def figure_text(column: str, value: float, ends: tuple[float | None, float | None] | None = None) -> str:
    """Return a figure of a column with its unit and its band, and its name unless it is the time or the cost.

    >>> figure_text("time_ms", 5.0), figure_text("tpot_ms", 5.0), figure_text("cost_per_Mtoken_usd", 1.4)
    ('5 ms', 'tpot 5 ms', 'cost per Mtoken 1.4 USD')
    """
    text = interval_text(column, value, ends)
    return text if column in _PLAIN else f"{noun(column)} {text}"


def size_text(size: Size) -> str:
    """Return how much one iteration of a workload is, for reading; empty where nothing is known.

    >>> from evo_libra.explain.time_record import Size
    >>> names = "layers", "sequence", "batch_per_replica", "micro_batch", "global_batch"
    >>> unknown = Size(parallelism={}, **dict.fromkeys(names) | {"layers": 54})
    >>> size_text(unknown)
    '54 layers'
    >>> from dataclasses import replace
    >>> size_text(replace(unknown, layers=2, sequence=1024, batch_per_replica=32, global_batch=8192))
    '2 layers, sequences of 1,024 tokens, 32 per replica, 8,192 in all'
    """
    parts = [] if size.layers is None else [f"{size.layers:,} layers" if size.layers != 1 else "1 layer"]
    if size.batch_per_replica is None and size.global_batch is not None:
        parts.append(f"{size.global_batch:,} sequences of {size.sequence:,} tokens in all")
    if size.plans is not None:
        parts.append(f"{size.plans_that_fit:,} of {size.plans:,} plans fit the memory")
    if (batch := size.batch_per_replica) is not None:
        what = f"{batch:,} samples" if size.sequence is None else f"sequences of {size.sequence:,} tokens, {batch:,}"
        parts += [f"{what} per replica", f"{size.global_batch:,} in all"]
        parts += [f"microbatches of {size.micro_batch:,}"] if size.micro_batch not in (None, batch) else []
    return ", ".join(parts)


def groups_text(size: Size) -> str:
    """Return the plan or the process groups of a workload, for reading, such as ``tp=8 dp=4``."""
    return size.plan or " ".join(f"{name}={degree}" for name, degree in size.parallelism.items())


def duration(seconds: float) -> str:
    """Return a time for reading.

    >>> duration(0.43), duration(61), duration(7300), duration(200_000)
    ('0.43 s', '1 min 1 s', '2 h 1 min', '2 d 7 h')
    """
    if seconds < 10:  # noqa: PLR2004 - short times read better with decimals
        return f"{seconds:.2g} s"
    for name, size, smaller, part in (("d", 86400, "h", 3600), ("h", 3600, "min", 60), ("min", 60, "s", 1)):
        if seconds >= size:
            return f"{int(seconds // size)} {name} {int(seconds % size // part)} {smaller}"
    return f"{seconds:.0f} s"


def short_design(design: str) -> str:
    """Return the notation with bandwidths to ten digits, which evaluate to the same figures; files keep them all.

    >>> short_design("RI(4)@chip:699.9999999999995_SW(32)@pod:51.66666666666664 chunks=4")
    'RI(4)@chip:700_SW(32)@pod:51.66666667 chunks=4'
    """
    if is_order(design):
        return design
    network, *options = design.split(" ")
    parts = []
    for part in network.split("_"):
        head, colon, bandwidth = part.partition(":")
        parts.append(f"{head}{colon}{bandwidth_text(float(bandwidth))}" if colon else part)
    return " ".join(["_".join(parts), *options])


def bandwidth_text(gigabytes: float) -> str:
    """Return GB/s to ten digits: rounded so, a design has the same figures and keeps all limits.

    >>> bandwidth_text(213.3333333333332), bandwidth_text(1234567.0), bandwidth_text(0.0000125)
    ('213.3333333', '1234567', '1.25e-05')
    """
    return f"{gigabytes:.10g}"


def bandwidths_text(design: str) -> str:
    """Return the GB/s of the dimensions of a design.

    >>> bandwidths_text("RI(4)@chip:699.9999999999995_SW(32)@pod:51.5 chunks=4 | tp8 dp4 mb1")
    '700 51.5'
    """
    if is_order(design):
        return ""
    parts = (part.partition(":")[2] for part in design.split(" ", maxsplit=1)[0].split("_"))
    return " ".join(bandwidth_text(float(part)) for part in parts if part)


_LABELS = {"time_ms": "iteration time [ms]", "cost_usd": "network cost [USD]", "bought_npus": "NPUs bought"}


def label_of(column: str) -> str:
    """Return what an axis calls an objective.

    >>> label_of("time_ms"), label_of("power_MW"), label_of("order_cost_usd"), label_of("hops")
    ('iteration time [ms]', 'power [MW]', 'order cost [USD]', 'hops')
    """
    name, _, unit = column.rpartition("_")
    return _LABELS.get(column, f"{noun(column)} [{unit.replace('usd', 'USD')}]" if name else column)


def cell(value: float) -> str:
    """Return a figure of a table.

    >>> cell(0.000123456), cell(58.0981), cell(0.0)
    ('0.0001235', '58.1', '0')
    """
    return f"{value:.4g}"


def percent(value: float) -> str:
    """Return percent as a figure.

    >>> percent(30.6789), percent(0.01)
    ('30.7', '0.01')
    """
    return f"{value:.3g}"


def change(value: float) -> str:
    """Return a change in percent as a figure with its sign; 0 where it is rounding.

    >>> change(6.8812), change(-1e-9)
    ('+6.88', '0')
    """
    return "0" if abs(value) < _ROUNDING else f"{value:+.3g}"


_ROUNDING = 1e-6


def pieces(value: float) -> str:
    """Return a number of pieces, which may be a fraction.

    >>> pieces(24576), pieces(1.5), pieces(143_523_840)
    ('24,576', '1.5', '143,523,840')
    """
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.6g}"


def dollars(value: float | None, digits: int = 2) -> str:
    """Return an amount of a bill to the cent; a dash where no source gives it.

    >>> dollars(2668160.0), dollars(None)
    ('2,668,160.00', '-')
    """
    return "-" if value is None else f"{value:,.{digits}f}"
