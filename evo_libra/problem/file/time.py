"""The time of a problem file: its keys, and what makes the time model of workloads."""

from __future__ import annotations

from typing import Any

from evo_libra.errors import InputError
from evo_libra.files.source import Source
from evo_libra.network.catalog.technologies import Catalog
from evo_libra.problem.file.spec import ProblemSpec, TimeSpec
from evo_libra.problem.time_models.registry import TIME_MODELS, Make, time_kind

_ALWAYS = ("model", "overlap", "weights", "shares", "efficiency")


def time_spec(spec: ProblemSpec) -> TimeSpec:
    """Return the time of a problem file, written out."""
    return spec.time if isinstance(spec.time, TimeSpec) else TimeSpec(model=spec.time)


def check_keys(spec: TimeSpec, source: Source) -> None:
    """Refuse keys of other models."""
    kind, keys = time_kind(spec.model), [key for key in TimeSpec.model_fields if getattr(spec, key) is not None]
    if given := [key for key in keys if key not in (*_ALWAYS, *kind.keys)]:
        raise InputError([source.mistake(("time", key), f"{kind.lacks}; {_owners(key)}") for key in given])


def _owners(key: str) -> str:
    """Return which models have a key, as the end of a sentence."""
    *others, last = [name for name in TIME_MODELS if key in time_kind(name).keys]
    return f"this key belongs to {', '.join(others)} and {last}" if others else f"this key belongs to {last}"


def has_whole_bandwidth(spec: ProblemSpec) -> bool:
    """Return whether process groups get the whole bandwidth of what has a price per bandwidth, as in LIBRA's study."""
    return time_spec(spec).shares == "libra"


def check_shares(spec: ProblemSpec, source: Source) -> None:
    """Refuse the key `shares` with a trace: LIBRA has none that could be reproduced."""
    shares = time_spec(spec).shares
    traces = [index for index, workload in enumerate(spec.workloads) if workload.trace is not None]
    if shares is not None and traces:
        why = f"workloads[{traces[0]}] is a trace, whose groups always get what their links carry; leave the key out"
        raise InputError(source.mistake(("time", "shares"), f"found {shares}; {why}"))


def identity_of_time(spec: ProblemSpec) -> Any:  # noqa: ANN401 - a name or a mapping
    """Return the time of a problem file without its shares and absent keys that older files could not name."""
    if isinstance(spec.time, str):
        return spec.time
    absent = {"shares"} if spec.time.latency_occupies is not None else {"shares", "latency_occupies"}
    data, plain = (one.model_dump(mode="json", exclude=absent) for one in (spec.time, TimeSpec(model=spec.time.model)))
    return spec.time.model if spec.time.shares is not None and data == plain else data


def reader_of(spec: TimeSpec, catalog: Catalog, source: Source) -> Make:
    """Return what makes the time model of workloads.

    Raises
    ------
    InputError : a key does not belong to the model, or is wrong for it.
    """
    check_keys(spec, source)
    return time_kind(spec.model).read(spec, catalog, source)
