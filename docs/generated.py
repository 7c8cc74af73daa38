"""Parts of the reference pages that are made from the program when the docs are built, so that no list is kept by hand.

A page asks for one with a block such as ::

    ```{generated} keys evo_libra.problem.file.spec.ProblemSpec
    ```

`expanded` puts Markdown in its place before the page is parsed, so that headings and anchors are those of any page.
What the program says of itself is read by one small function for each list; the rest of this file lays out tables.
"""

from __future__ import annotations

import inspect
import io
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import redirect_stdout
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from generated_ages import ages, defaults, gaps, missing, orders, states, unchecked
from generated_fred import fred_runs, fred_strategies
from generated_seeds import headline_errors, headlines
from key_tables import key_tables
from layout import either, table

from evo_libra.files.fields import CompleteSchema
from evo_libra.problem.file.registry import load_python_problem, packaged_modules
from evo_libra.problem.needs import FAULTS, NPU_PRICE, WATTS

PLACES = {
    "problem file": "evo_libra.problem.file.spec.ProblemSpec",
    "order file": "evo_libra.network.orders.choices.OrderChoices",
    "fabric file": "evo_libra.problem.file.switch_fabric_spec.SwitchFabricChoices",
    "experiment file": "evo_libra.experiment.file.schema.ExperimentSpec",
    "catalogue of prices": "evo_libra.network.catalog.technologies.CatalogSpec",
    "catalogue of parts": "evo_libra.network.catalog.parts_spec.PartsSpec",
    "catalogue of products": "evo_libra.network.orders.products.ProductsSpec",
    "prices": "evo_libra.network.catalog.technologies.load_catalog",
    "parts": "evo_libra.network.catalog.parts.load_parts_spec",
    "products": "evo_libra.network.orders.catalog.load_products",
    "designs": "evo_libra.network.catalog.designs.reference_designs",
    "clusters": "evo_libra.network.catalog.clusters.reference_orders",
    "failures": "evo_libra.network.catalog.failures.load_failure_specs",
    "hosts": "evo_libra.network.catalog.hosts.load_hosts",
    "rates of hosts": "evo_libra.network.catalog.hosts.RATES",
    "training software": "evo_libra.workload.models.stacks.STACKS",
    "blocks": "evo_libra.network.blocks.registry.BLOCKS",
    "patterns": "evo_libra.collective.Pattern",
    "models": "evo_libra.workload.layers.generators.load_models",
    "objectives": "evo_libra.problem.objectives.PLAIN",
    "statistics": "evo_libra.problem.statistics.STATISTICS",
    "units": "evo_libra.problem.constraint_parser.units_of",
    "engines": "evo_libra.searching.registry.ENGINES",
    "schedulers": "evo_libra.timing.names.Scheduler",
    "policies": "evo_libra.timing.names.Policy",
    "algorithms": "evo_libra.timing.names.CollectiveAlgorithm",
    "columns": "evo_libra.experiment.run.record.COLUMNS",
    "settings": "evo_libra.experiment.run.settings.SETTINGS",
    "commands": "evo_libra.ui.commands.names.COMMANDS",
    "command line": "evo_libra.ui.commands.application.run",
    "sources": "evo_libra.validation.sources.SOURCES",
    "classes": "evo_libra.validation.classes.by_class",
    "class columns": "evo_libra.ui.tables.validation.CLASS_COLUMNS",
    "class cells": "evo_libra.ui.tables.validation.class_cells",
    "coverage": "evo_libra.validation.coverage.coverage_cells",
    "offsets": "evo_libra.ui.tables.validation.offset_cells",
    "sections": "evo_libra.ui.tables.validation.sections_of",
    "basis": "evo_libra.ui.tables.validation.basis_of",
    "errors": "evo_libra.ui.tables.validation.error_cells",
    "meaning": "evo_libra.ui.tables.validation.meaning",
    "notes": "evo_libra.ui.tables.validation.notes",
    "not modelled": "evo_libra.validation.sources.NOT_MODELLED",
    "readers": "evo_libra.exchange.registry.PACKAGED",
    "writers": "evo_libra.exchange.registry.PACKAGED_WRITERS",
    "JSON files": "evo_libra.experiment.store.folder._FIELDS",
}
"""Where the program keeps what the tables here are made of."""
ROOT = Path(__file__).parents[1]
_BLOCK = re.compile(r"^```\{generated\} (\w+) ?(.*)\n```$", re.MULTILINE)


@cache
def expanded(text: str) -> str:
    """Return a page with every block ``{generated} NAME ARGUMENTS`` replaced by what it asks for."""
    return _BLOCK.sub(lambda match: GENERATORS[match[1]](*match[2].split()).strip(), text)


def named(place: str) -> Any:  # noqa: ANN401 - whatever is there
    """Return one of `PLACES`."""
    module, _, name = PLACES[place].rpartition(".")
    return getattr(import_module(module), name)


def keys(*words: str) -> str:
    """Return tables of the keys of a kind of file.

    Parameters
    ----------
    *words : the kind, as in `PLACES`, and what anchors begin with where a page has two kinds, such as ``of=parts``.
    """
    prefix = next((word.removeprefix("of=") for word in words if word.startswith("of=")), "")
    kind = " ".join(word for word in words if not word.startswith("of="))
    schema = named(kind).model_json_schema(schema_generator=_OwnKeysFirst)
    return key_tables(schema, prefix, _defaults_of_settings() if kind == "experiment file" else {})


def options(name: str) -> str:
    """Return a table of the options of a problem in Python that comes with the package."""
    found: Any = load_python_problem(name)
    return key_tables(type(found.options).model_json_schema(schema_generator=_OwnKeysFirst), name)


class _OwnKeysFirst(CompleteSchema):
    """The JSON Schema of models, with the keys of a class before those of its bases."""

    def model_schema(self, schema: Any) -> dict[str, Any]:  # noqa: ANN401 - pydantic's description of a model
        found = super().model_schema(schema)
        names = (name for one in schema["cls"].__mro__ for name in getattr(one, "__annotations__", ()))
        properties = found.get("properties", {})
        return {**found, "properties": {name: properties[name] for name in dict.fromkeys(names) if name in properties}}


def _defaults_of_settings() -> Mapping[str, Any]:
    """Return the defaults of the settings of a run; the engine decides the share of the memetic step."""
    return {
        name: one.default for name, one in named("settings").items()
        if name != "memetic" and isinstance(one.default, int | float | str)
    }  # fmt: skip


def objectives() -> str:
    """Return a table of the objectives."""
    measures: Mapping[str, Any] = named("objectives")
    rows = [
        [
            f"`{name}`",
            f"`{one.objective.column}`",
            one.meaning,
            units(one.unit),
            _yes(bool(one.needs & {WATTS, FAULTS})),
            _yes(one.uncertain),
        ]
        for name, one in measures.items()
    ]
    head = ["name", "column", "meaning", "units in constraints", "needs a catalogue of parts", "over scenarios, too"]
    return table(head, rows)


def _yes(holds: bool) -> str:  # noqa: FBT001 - a cell
    return "yes" if holds else ""


def formats(kind: str) -> str:
    """Return a table of the files of other programs that are read, or of those that are written."""
    option, does = {"readers": ("--format", "reads"), "writers": ("--to", "writes")}[kind]
    rows = [[f"`{one.name}`", getattr(one, does)] for one in named(kind)]
    return table([f"`{option}`", f"what `{'import' if kind == 'readers' else 'export'}` {does}"], rows)


def statistics() -> str:
    """Return a table of the statistics over scenarios, each with an objective and its column."""
    measure = next(one for one in named("objectives").values() if one.paid and NPU_PRICE not in one.needs)
    examples = [measure.over(one).objective for one in named("statistics").values()]
    rows = [
        [f"`{name}`", one.meaning, f"`{example.name}`", f"`{example.column}`"]
        for (name, one), example in zip(named("statistics").items(), examples, strict=True)
    ]
    return table(["name", "meaning", "such as", "column"], rows)


def units(kind: str) -> str:
    """Return the units that constraints on a kind of quantity may have."""
    return str(named("units")(kind))


def blocks() -> str:
    """Return a table of the building blocks."""
    rows = [
        [f"`{one.name}`", f"`{one.code}`", _summary(one), one.algorithm, one.switch_kind or "", one.timed_as or ""]
        for one in named("blocks")
        if not hasattr(one, "ratios")
    ]
    return table(["block", "code", "what it is", "algorithm", "switch part", "timed as"], rows)


def ratios() -> str:
    """Return a table of the oversubscriptions of fat trees, with the blocks of each."""
    found: dict[tuple[int, int], list[str]] = {}
    for one in named("blocks"):
        if hasattr(one, "ratios"):
            found.setdefault(one.ratios, [f"{one.ratios[0]}:1", f"{one.ratios[1]}:1"]).extend(
                [f"`{one.name}`", f"`{one.code}`"]
            )
    head = ["leaves", "pods", "one network", "code", "rails", "code"]
    return table(head, list(found.values()))


def shares() -> str:
    """Return a table of the shares of bandwidth that groups get of each building block, in a dimension of 16 NPUs."""
    patterns = named("patterns")
    kinds = [(patterns.SHRINKING, 16), (patterns.SHRINKING, 4), (patterns.ALL_TO_ALL, 16), (patterns.ALL_TO_ALL, 4)]
    rows = [[f"`{one.name}`", *(_share(one, *kind) for kind in kinds)] for one in named("blocks") if not one.sited]
    head = ["all-reduce of all 16", "of 4 neighbours", "all-to-all of all 16", "of 4 neighbours"]
    return table(["block", *head], rows)


def _share(block: Any, pattern: object, extent: int) -> str:  # noqa: ANN401 - a building block
    return f"{float(block.share(pattern, extent, 1, 16)):.3g}"


def _summary(found: object) -> str:
    return (inspect.getdoc(found) or "").split("\n\n")[0].replace("\n", " ")


def engines() -> str:
    """Return a table of the engines."""
    rows = [[f"`{name}`", one.title, one.purpose] for name, one in named("engines").items()]
    return table(["engine", "what it is", "made for"], rows)


def choices(kind: str) -> str:
    """Return a table of the schedulers, policies or algorithms."""
    rows = [[f"`{one.key}`", one.description] for one in named(kind) if one.key]
    return table([{"policies": "policy"}.get(kind, kind[:-1]), "what it does"], rows)


def models() -> str:
    """Return a table of the models that a workload can name."""
    found = named("models")()
    rows = [[f"`{name}`", model.kind, model.source] for name, model in found.items()]
    return table(["model", "kind", "source"], rows)


def problems() -> str:
    """Return a table of the problems that come with the package: those of files, then those in Python."""
    rows = []
    for path in sorted((ROOT / "problems").glob("*.yaml")):
        first = next(line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("#"))
        rows.append([f"`{path.stem}`", first.lstrip("# ")])
    for name, path in packaged_modules().items():
        rows.append([f"`{name}`", path.read_text(encoding="utf-8").partition("\n")[0].strip('"')])
    return table(["problem", "what it asks"], rows)


def prices(name: str) -> str:
    """Return a table of a catalogue of prices per GB/s."""
    giga = 1e9
    rows = [
        [
            one.name, *(("" if price is None else _amount(price * giga)) for price in (one.link, one.switch, one.nic)),
            str(one.largest_dimension or ""), "" if one.bandwidth_cap is None else _amount(one.bandwidth_cap / giga),
            ", ".join(one.blocks),
        ]
        for one in named("prices")(name).technologies
    ]  # fmt: skip
    head = ["technology", "link", "switch", "NIC", "largest dimension", "bandwidth cap [GB/s]", "blocks"]
    return table(head, rows)


def technologies(name: str) -> str:
    """Return a table of the technologies of a catalogue of parts."""
    rows = [
        [
            key, _amount(one.port_GBps), str(one.ports), str(one.domain_size or ""), _domains(one.domains),
            _amount(one.latency_ns), _amount(one.energy_pJ_per_bit), ", ".join(one.blocks),
        ]
        for key, one in _own(name, "technologies").items()
    ]  # fmt: skip
    head = ["technology", "GB/s of a port", "ports", "domain size", "domains that are sold", "ns", "pJ/bit", "blocks"]
    return table(head, rows)


def _domains(sold: Mapping[str, Sequence[int]] | None) -> str:
    return "; ".join(f"{block} {', '.join(map(str, sizes))}" for block, sizes in (sold or {}).items())


def parts(name: str) -> str:
    """Return a table of the parts of a catalogue of parts."""
    rows = []
    for key, one in sorted(_own(name, "parts").items(), key=lambda item: (item[1].kind, item[0])):
        price = one.price_usd
        prices = [price] * 3 if isinstance(price, float | int) else [price.low, price.value, price.high]
        idle = "" if one.idle_watts is None else _amount(one.idle_watts)
        figures = [*map(_amount, prices), _amount(one.busy_watts), idle, str(one.ports or ""), _amount(one.latency_ns)]
        rows.append([key, one.kind, *figures, str(one.year)])
    return table(["part", "kind", "low USD", "USD", "high USD", "W", "idle W", "ports", "ns", "year"], rows)


PRODUCT_FIGURES = {
    "systems": ("npu", "sizes", "kW", "height_U", "cooling", "nics"),
    "nics": ("modes", "bus", "cage", "power_W"),
    "switches": ("layer", "modes", "cages", "power_W", "latency_ns", "efficiency"),
    "cables": ("kind", "Gbps", "links", "reach_m", "switch_module", "nic_module"),
    "modules": ("Gbps", "links", "power_W"),
    "ocs": ("ports", "power_W"),
}
"""Figures of a product in its table, by group."""


def products(name: str, group: str) -> str:
    """Return a table of the products of a group of a catalogue."""
    rows = []
    for key, one in getattr(named("products")(name), group).items():
        price = one.price_usd
        usd = "" if price is None else _amount(price) if isinstance(price, float) else _price_range(price)
        figures = (_product_figure(getattr(one, figure)) for figure in PRODUCT_FIGURES[group])
        rows.append([f"`{key}`", one.order, *figures, usd, str(one.year)])
    return table(["name", "order", *(f"`{key}`" for key in PRODUCT_FIGURES[group]), "USD", "year"], rows)


def _price_range(price: Any) -> str:  # noqa: ANN401 - a price
    ends = f"{_amount(price.value)} ({_amount(price.low)} to {_amount(price.high)})"
    return f"~{ends}" if price.basis == "estimate" else ends


def _product_figure(value: Any) -> str:  # noqa: ANN401 - of any kind
    if value is None:
        return ""
    if isinstance(value, tuple):
        return ", ".join(map(_product_figure, value))
    if hasattr(value, "Gbps"):
        return f"{value.ports} x {_amount(value.Gbps)}"
    return value if isinstance(value, str) else _amount(value)


def designs() -> str:
    """Return a table of the reference designs."""
    rows = [
        [
            f"`{name}`",
            f"{one.title}: {' '.join(one.source.split())}",
            f"`{one.design}`",
            _sizes(one.npus),
            str(one.year),
        ]
        for name, one in named("designs")().items()
    ]
    return table(["name", "what it is, and its source", "design", "NPUs", "year"], rows)


def clusters() -> str:
    """Return a table of the reference orders."""
    rows = [
        [f"`{name}`", f"{one.title}: {' '.join(one.source.split())}", f"`{one.order}`", _sizes(one.npus), str(one.year)]
        for name, one in named("clusters")().items()
    ]
    return table(["name", "what it is, and its source", "order", "NPUs", "year"], rows)


def hosts() -> str:
    """Return a table of the hosts."""
    keys = ("npus", "price_usd", "power_W", *named("rates of hosts"), "ssd_price_usd")
    rows = []
    for name, one in named("hosts")().items():
        figures = ("" if (value := getattr(one, key)) is None else f"{value:,g}" for key in keys)
        sources = dict.fromkeys(" ".join(text.split()) for text in one.given.values())
        rows.append([f"`{name}`", *figures, "; ".join(sources)])
    return table(["name", *(f"`{key}`" for key in keys), "sources"], rows)


def software() -> str:
    """Return the training software with its rows, one line for each generation of accelerators."""
    every = named("training software").values()
    rows = [(of, stack.on(of)) for stack in every for of in stack.generations or ("",)]
    cells = [
        (f"`{one.name}`", of or "any", str(one.year or ""), str(one.rows or ""),
         f"{100.0 * one.error:.1f}" if one.error else "", one.source)
        for of, one in rows
    ]  # fmt: skip
    return table(("`stack`", "generation", "year", "rows", "mean error %", "what its figures come from"), cells)


def failures() -> str:
    """Return a table of the failure rates."""
    rows = [
        [f"`{name}`", f"{one.per_year:g}", f"{one.repair_h:g}", " ".join(one.source.split()), str(one.year)]
        for name, one in named("failures")().items()
    ]
    return table(["kind or part", "failures in a year", "repair [h]", "source", "year"], rows)


def _sizes(npus: Any) -> str:  # noqa: ANN401 - a tuple or steps
    if isinstance(npus, tuple):
        return ", ".join(map(str, npus))
    return f"multiples of {npus.multiple_of} up to {npus.at_most}"


def _own(name: str, key: str) -> Mapping[str, Any]:
    """Return the parts or technologies of a catalogue that are not those of the one that it extends."""
    spec = named("parts")(name)
    base = getattr(named("parts")(spec.extends), key) if spec.extends else {}
    return {each: one for each, one in getattr(spec, key).items() if each not in base}


def _amount(value: float) -> str:
    return f"{value:,.10g}"


# Files of a run.


_MEANINGS = {
    "method": "settings that differ from a plain search",
    "experiment": "experiment that the run belongs to; empty for a single search",
    "program": "digest of the program's code that results depend on", "started": "time of the start",
    "status": "what the run is at; `done.json` says whether it is finished",
    "evaluations": "designs that were evaluated", "failures": "designs that could not be evaluated",
    "first_failures": "the first ten of them with reason, description and genes",
    "source": "where the problem comes from, and its changes", "problem": "the validated problem",
    "objectives": "objectives with their columns, scales and labels",
    "versions": "versions of Python and of libraries", "git": "commit and state of the checkout; null outside of one",
    "machine": "host, processor and system", "command": "the command line", "files": "SHA-256 of each table",
    "error": "the last line of the failure", "time": "when, in s since the epoch",
    "designs": "each with its genes and the reason", "batch": "the batch that has tried it",
    "count": "attempts from the same place", "memory_kills": "workers that the system has ended for want of memory",
    "file": "path of the experiment file", "runs": "the runs in their order, with their ids",
}  # fmt: skip
"""Meanings of the keys of JSON files that are no setting and no column of runs. A key without one ends the build."""


def records() -> str:
    """Return a section for each JSON file of runs and batches, with a table of its keys."""
    sections, meanings = [], _meanings()
    for name, fields in named("JSON files").items():
        rows = [[f"`{key}`", _type_of(kind), "yes" if key in _optional(fields) else "", meanings[key]]
                for key, kind in _kinds(fields).items()]  # fmt: skip
        sections.append(f"### `{name}`\n\n{table(['key', 'value', 'may be missing', 'meaning'], rows)}")
    return "\n\n".join(sections)


def _meanings() -> Mapping[str, str]:
    """Return the meanings of keys: those of settings and of columns of runs, then the others."""
    settings = {one.key: one.help for one in named("settings").values() if one.key}
    columns = {one.key: one.help for one in named("columns") if one.place in ("head", "plan", "figure")}
    return {**settings, **columns, **_MEANINGS}


def _kinds(fields: Any) -> Mapping[str, Any]:  # noqa: ANN401 - what the program says of a JSON object
    return fields.kinds  # type: ignore[no-any-return]


def _optional(fields: Any) -> Collection[str]:  # noqa: ANN401 - the same
    return fields.optional  # type: ignore[no-any-return]


def _type_of(kind: Any) -> str:  # noqa: ANN401 - a type
    """Return what values of a type are called in JSON."""
    words = {str: "text", int: "whole number", float: "number", bool: "`true` or `false`", type(None): "`null`"}
    inner = [_type_of(one) for one in get_args(kind) if get_origin(kind) is not Literal]
    if get_origin(kind) is Literal:
        return either([f"`{one}`" for one in get_args(kind)])
    if get_origin(kind) is list:
        return f"list of {inner[0]}"
    if get_origin(kind) is dict or hasattr(kind, "kinds"):
        return "mapping"
    return words.get(kind, either(inner) if inner else "any value")


# What `evo-libra validate` prints.


def validation(what: str) -> str:
    """Return the errors by what is bought or by source, what they rest on, or what is not modelled."""
    parts = {
        "classes": _classes, "coverage": _coverage, "offsets": _offsets, "errors": _errors, "constants": _constants,
        "left_out": _left_out,
    }  # fmt: skip
    return parts[what]()


@cache
def _computed() -> Mapping[Any, Any]:
    return {source: tuple(source.rows()) for source in named("sources")}


def _classes() -> str:
    rows = [named("class cells")(one) for one in named("classes")(_computed())]
    return table(list(named("class columns")), [list(row) for row in rows])


def _coverage() -> str:
    head = ["rows", "without the row: rows", "held %", "without its model: rows", "held %"]
    return table(head, named("coverage")(_computed()))


def _offsets() -> str:
    return table(["figure", "accelerator", "precision", "dense or routed", "schedule"], named("offsets")())


def _errors() -> str:
    head = ["source", "rows", "mean %", "max %", "bias %", "constants", "error of others", "what it is"]
    return "\n\n".join(f"### {name}\n\n{table(head, [_error_row(one) for one in members])}"
                       for name, members in named("sections")(_computed()).items())  # fmt: skip


def _error_row(source: Any) -> list[str]:  # noqa: ANN401 - a source of figures
    errors = named("errors")(_computed()[source])
    return [f"`{source.name}`", *errors, named("basis")(source), source.anchor, named("meaning")(source)]


def _constants() -> str:
    return "\n".join(f"- {note}" for note in named("notes")()[:-1])


def _left_out() -> str:
    return "\n".join(f"- {sentence}" for sentence in named("not modelled"))


# The command line.


def commands() -> str:
    """Return a section for each command, with a table of its options."""
    found = named("commands")
    names = [[name] if name != "workload" else [name, "show"] for name in sorted(found)]
    return "\n\n".join(_command(words) for words in names)


_OPTION = re.compile(r"^  (\S.*?): (.*)$")
_DEFAULT = re.compile(r" \[(default: .*?|required)\]")


def _command(words: Sequence[str]) -> str:
    lines = help_of(words).splitlines()
    usage = next(line for line in lines if line.startswith("Usage: ")).removeprefix("Usage: ")
    start = next((place for place, line in enumerate(lines) if line in ("Parameters:", "Arguments:")), len(lines))
    about = " ".join(line for line in lines[:start] if line and not line.startswith("Usage: "))
    rows = []
    for match in filter(None, map(_OPTION.match, lines[start:])):
        default = _DEFAULT.search(match[2])
        names = ", ".join(f"`{name}`" for name in match[1].split(", "))
        shown = "" if default is None else default[1].removeprefix("default: ")
        rows.append([names, _DEFAULT.sub("", match[2]), "" if shown in {"", "False"} else shown])
    body = table(["option", "meaning", "default"], rows) if rows else ""
    return f"## `{' '.join(words)}`\n\n{about}\n\n```text\n{usage}\n```\n\n{body}"


def help_of(words: Sequence[str]) -> str:
    """Return the help of a command, each option on a line of its own."""
    said, before = io.StringIO(), os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "100000"
    try:
        with redirect_stdout(said):
            named("command line")([*words, "--help"])
    finally:
        os.environ.pop("COLUMNS") if before is None else os.environ.__setitem__("COLUMNS", before)
    return said.getvalue()


GENERATORS: Mapping[str, Callable[..., str]] = {
    one.__name__: one
    for one in (
        ages,
        blocks,
        choices,
        clusters,
        commands,
        defaults,
        designs,
        engines,
        failures,
        formats,
        fred_runs,
        fred_strategies,
        gaps,
        headline_errors,
        headlines,
        hosts,
        keys,
        missing,
        models,
        objectives,
        orders,
        states,
        unchecked,
        parts,
        prices,
        options,
        problems,
        products,
        records,
        ratios,
        shares,
        software,
        statistics,
        technologies,
        validation,
    )
}
"""What a page can ask for, by name."""
