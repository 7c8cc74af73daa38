"""A sentence on accelerators whose kernels were not measured, and the spread of those that were."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from evo_libra.network.catalog.accelerator import ATTENTION, DECODING, Accelerator
from evo_libra.network.catalog.accelerators import load_accelerators
from evo_libra.problem.file.spec import WorkloadSpec
from evo_libra.timing.quirks import Quirk
from evo_libra.workload.serving.serving_setup import products_of

_QUIRK = "class-default"
_NAMES = {DECODING: "decoding", ATTENTION: "attention"}
_OF = {DECODING: "their memory bandwidth in decoding", ATTENTION: "their peak in attention"}


def default_kernels(npus: Iterable[Accelerator], workloads: Sequence[WorkloadSpec]) -> tuple[Quirk, ...]:
    """Return what to know of the times of accelerators whose kernels have constants of their class; nothing of others.

    Only kinds of kernels count that some workload runs.
    """
    run = _run(workloads)
    kinds = {npu.name: tuple(kind for kind in npu.class_defaults() if kind in run) for npu in npus}
    unmeasured = {name: its for name, its in kinds.items() if its}
    if not unmeasured:
        return ()
    each = tuple((name, Quirk(_QUIRK, _sentence({name: its}))) for name, its in unmeasured.items())
    return (Quirk(_QUIRK, _sentence(unmeasured), each=each),)


def _sentence(kinds: Mapping[str, tuple[str, ...]]) -> str:
    """Return what to know of accelerators, from the kinds of kernels of each that were not measured."""
    chips: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, its in kinds.items():
        chips[its].append(name)
    some = "; ".join(f"{', '.join(names)} ({', '.join(map(_name, its))})" for its, names in chips.items())
    every = dict.fromkeys(kind for each in chips for kind in each)
    measured = ", ".join(filter(None, map(_measured, every)))
    return (
        f"no public measurement of kernels: the constants of {some} are the default of their class. Measured chips "
        f"reach {measured}, and times of these may be off by as much"
    )


def _run(workloads: Sequence[WorkloadSpec]) -> Collection[str]:
    """Return the kinds of kernels that workloads run: products in their precisions, attention, and decoding."""
    found: set[str] = set()
    for spec in workloads:
        if spec.training is not None:
            found |= {*_listed(spec.training.precision), ATTENTION}
        if spec.serving is not None:
            found |= {*map(products_of, _listed(spec.serving.weights)), ATTENTION, DECODING}
    return found


def _listed(values: str | tuple[str, ...]) -> tuple[str, ...]:
    return (values,) if isinstance(values, str) else values


def _name(kind: str) -> str:
    return _NAMES.get(kind, kind)


def _measured(kind: str) -> str:
    """Return what kernels of a kind reach on the chips of the catalogue where they were measured."""
    chips = load_accelerators().values()
    shares = [one.kernel_shares()[kind] for one in chips if kind in set(one.kernel_shares()) - {*one.class_defaults()}]
    of = _OF.get(kind, f"their peak in {kind}")
    return f"{100 * min(shares):.0f} to {100 * max(shares):.0f} % of {of}" if shares else ""
