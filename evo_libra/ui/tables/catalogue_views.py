"""Views of the catalogues that fit a screen: what there is, accelerators, models, and one entry of any kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evo_libra.ui.tables.ages import Entry, dated_entries, state_of, year_of
from evo_libra.ui.tables.catalogue_data import NAMES
from evo_libra.ui.tables.output import new_console, print_narrow, print_table
from evo_libra.ui.tables.parts import figure

if TYPE_CHECKING:
    from evo_libra.network.catalog.accelerator import Accelerator

_ROWS = 43
"""Rows of the table of language models on a screen of 52 lines; `--all` shows models of earlier years, too."""

_OVERVIEW = {
    "accelerators": ("accelerators: peaks, memory, kernels", ("accelerator",)),
    "models": ("language and recommendation models", ("language model", "recommendation model", "model of layers")),
    "systems": ("servers, racks and slices", ("system",)), "nics": ("NICs", ("NIC",)),
    "switches": ("packet switches", ("switch",)), "cables": ("cables and fibres", ("cable",)),
    "modules": ("optical modules", ("module",)), "ocs": ("optical circuit switches", ("circuit switch",)),
    "rules": ("lines of bills that follow", ("rule",)),
    "technologies": ("link technologies", ("link technology",)),
    "parts": ("parts of networks", ("part",)),
    "designs": ("reference designs", ("reference design",)), "clusters": ("reference orders", ("reference order",)),
    "hosts": ("nodes around accelerators", ("host",)), "failures": ("rates of failures", ("failure rate",)),
}  # fmt: skip
"""Kinds of entries by the word that shows them, and the kinds of dated entries that they are."""


def show_overview(data: Mapping[str, Any]) -> None:
    """Print what the catalogues have, by the word that shows it, with the newest year of each kind."""
    entries = dated_entries()
    rows = [(word, text, *_counted(entries, kinds)) for word, (text, kinds) in _OVERVIEW.items()]
    columns = ("catalog", "shows", "entries", "to be had", "newest")
    print_narrow("names for problem files", columns, rows, left=columns[:2])
    products, parts, linear = (", ".join(data[f"{key}catalogs"]) for key in ("product_", "parts_", ""))
    _print_text(f"catalogues: {products}; of parts {parts}; per GB/s {linear}")
    counts = ", ".join(f"{len(data[key])} {key}" for key in NAMES)
    _print_text(f"catalog NAME shows one, --all every name ({counts}).")


def _counted(entries: Sequence[Entry], kinds: Sequence[str]) -> tuple[str, str, str]:
    """Return the number of entries of some kinds, of those that anyone can have, and the newest year."""
    mine = [entry for entry in entries if entry.kind in kinds]
    had = sum(entry.order in ("buy", "rent", "open") for entry in mine)
    return str(len(mine)), str(had) if had else "-", str(max(entry.year for entry in mine))


def show_accelerators(found: Mapping[str, Any], **_: bool) -> None:
    """Print a table of accelerators."""
    states = {entry.name: entry for entry in dated_entries() if entry.kind == "accelerator"}
    rows = [
        (name, states[name].order, str(states[name].year or "-"), *_peaks(entry["peak_TFLOPS"]),
         *(figure(entry["memory"][key]) for key in ("capacity_GB", "bandwidth_GBps")), figure(entry.get("power_W")),
         _range(entry.get("price_usd")))
        for name, entry in found.items()
    ]  # fmt: skip
    columns = ("name", "order", "year", "bf16\nTFLOPS", "8 bits", "4 bits", "GB", "GB/s", "W", "kUSD")
    print_narrow("accelerators: dense peak rates, memory, power and price of one", columns, rows, left=columns[:2])


def show_kernels(kernels: Mapping[str, Mapping[str, Any]], *, npu: Accelerator) -> None:
    """Print the constants of kernels of an accelerator, a kind in a row, and whether they were measured."""
    defaults, once = npu.class_defaults(), npu.unchecked_kernels()
    rows = []
    for kind, constants in kernels.items():
        known = "class default" if kind in defaults else "one measurement" if kind in once else "measured"
        share = constants.get("plateau", constants.get("bandwidth"))
        rows.append((kind, figure(share), *(figure(constants.get(key)) for key in _KERNEL_KEYS.values()), known))
    columns = ("kernels", "share", *_KERNEL_KEYS, "from")
    print_narrow("kernels: share of the peak, or of the memory bandwidth", columns, rows, left=("kernels", "from"))


_KERNEL_KEYS = {
    "us": "fixed_us", "us\nalone": "isolated_us", "bytes to\nquantise": "quantisation",
    "tokens at\nhalf rate": "half_tokens", "backward": "backward",
}  # fmt: skip


def _peaks(peaks: Mapping[str, float]) -> Iterator[str]:
    """Yield the peak rates in 16, 8 and 4 bits."""
    for names in (("bf16",), ("fp8", "int8"), ("fp4", "mxfp4")):
        yield next((f"{peaks[name]:,.0f}" for name in names if name in peaks), "-")


def _range(price: Any) -> str:  # noqa: ANN401 - JSON
    if price is None:
        return "-"
    ends = dict.fromkeys(price if isinstance(price, Sequence) else (price,))
    return "-".join(f"{each / 1000:.3g}" for each in ends)


def show_models(found: Mapping[str, Any], *, whole: bool) -> None:
    """Print a table of language models; of those of recent years unless all are asked for."""
    years = {name: year_of(model) for name, model in found.items()}
    since = 0 if whole else _recent(list(years.values()))
    shown = {name: model for name, model in found.items() if years[name] >= since}
    rows = [
        (name, model["order"], str(years[name]), *(_billions(model[key]) for key in _WEIGHTS), *_shape(model))
        for name, model in shown.items()
    ]
    columns = ("name", "state", "year", "weights", "active", "layers", "width", "tokens")
    kept = f"models since {since}" if len(shown) < len(found) else "language models"
    title = f"{kept}; billions of weights, active with embedding and head"
    print_narrow(title, columns, rows, left=columns[:2])


def _recent(years: Sequence[int]) -> int:
    """Return the earliest year since which the models fit a screen; the newest year where not even its models do.

    >>> _recent([2023] * 10 + [2024] * 20 + [2025] * 20)
    2024
    """
    kept = [year for year in set(years) if sum(one >= year for one in years) <= _ROWS]
    return min(kept, default=max(years))


_WEIGHTS = ("parameters", "active_parameters")


def _billions(count: int) -> str:
    return f"{count / 1e9:,.4g}"


def _shape(model: Mapping[str, Any]) -> tuple[str, ...]:
    values = (model.get(key) for key in ("layers", "hidden", "sequence"))
    return tuple("-" if value is None else f"{value:,}" for value in values)


def show_entry(name: str, entry: Mapping[str, Any], *, kind: str) -> None:
    """Print all figures of an entry of a kind, with its state and year."""
    words, year = _words(entry), year_of(entry)
    newest = f"newest source of {year}" if year else "an estimate"
    print_table(f"{kind}: {name}, {state_of(entry)}, {newest}", ("figure", ""), words, fold=("figure", ""))
    if missing := [key for key in _ASKED if key in entry and entry[key] is None]:
        _print_text(
            f"no source gives {', '.join(missing)}; --sources says where they were looked for, or who has them."
        )


def entry_sources(name: str, entry: Mapping[str, Any]) -> None:
    """Print where the figures of an entry come from."""
    if "source" not in entry and "sources" not in entry:
        for each, one in entry.items():
            entry_sources(each, one)
        return
    year = f" ({entry['year']})" if entry.get("year") else ""
    _print_text(f"  {name}{year}: {' '.join((entry.get('source') or 'by figure').split())}")
    for key, text in (entry.get("sources") or {}).items():
        _print_text(f"    {key}: {' '.join(text.split())}")


_ASKED = ("price_usd", "power_W", "kW")
"""Figures that a file gives where no source does."""

_ABOUT = {"source", "sources", "year", "order_state", "until", "name"}
"""Keys that are no figures: the title has them, or the sources."""


def _words(entry: Mapping[str, Any]) -> list[tuple[str, str]]:
    from evo_libra.network.catalog.accelerator import leaves

    about = _ABOUT if "order_state" in entry else {*_ABOUT, "order"}
    figures = {key: value for key, value in entry.items() if key not in about and value not in ("", [], {})}
    return [(key, _word(value)) for key, value in leaves(figures)]


def _word(value: Any) -> str:  # noqa: ANN401 - a value of JSON
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_word(one)}" for key, one in value.items())
    if isinstance(value, list | tuple):
        return ("; " if any(isinstance(one, Mapping) for one in value) else ", ").join(map(_word, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else figure(value)


def _print_text(text: str) -> None:
    """Print a text that folds at the width of the terminal."""
    from rich.text import Text

    new_console().print(Text(text), soft_wrap=False)
