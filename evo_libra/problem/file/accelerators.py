"""The accelerators of a problem file: which ones designs may have, and what of their links traffic reaches."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.errors import InputError, unknown
from evo_libra.files.mistakes import KeyPath
from evo_libra.files.yaml_reader import format_key
from evo_libra.network.catalog.technologies import Catalog, Technology
from evo_libra.network.transport import TRANSPORTS
from evo_libra.problem.file.memory_spec import MemorySpec
from evo_libra.problem.file.mistakes import Gather, ProblemFile
from evo_libra.problem.file.time import time_spec
from evo_libra.problem.npu_choice import NpuChoice, npu_choice

if TYPE_CHECKING:
    from evo_libra.network.catalog.accelerator import Accelerator
    from evo_libra.network.catalog.accelerators import AcceleratorSpec

FRAGMENTS, SERVING_RESERVE = 0.03, 0.05
"""Parts of a memory that stay free by default: for fragments in training, for fragments and the framework in serving.
With 3 % and a loss that is fused in place all 138 plans of llm-foundry's benchmarks fit that ran."""


class AcceleratorLoader:
    """Reads the accelerators of a problem file."""

    def __init__(self, file: ProblemFile) -> None:
        self.file, self.source, self.spec, self.fail = file, file.source, file.spec, file.fail

    @cached_property
    def npus(self) -> tuple[Accelerator, ...]:
        """The accelerators that the file names, if any.

        An `InputError` says that there is none of a name, that figures are wrong, or that two have one name.
        """
        if self.file.orders is not None:
            return self.file.orders.npus
        return tuple(self.file.instead.get(npu.name, npu) for npu in self._given())

    def _given(self) -> tuple[Accelerator, ...]:
        """Return the accelerators that the file names."""
        given = self.spec.npu
        if given is None:
            return ()
        if not isinstance(given, tuple):
            return (self._npu(("npu",), given),)
        gather = Gather()
        read = [gather.attempt(lambda one=one, place=place: self._npu(("npu", place), one))  # type: ignore[misc]
                for place, one in enumerate(given)]  # fmt: skip
        gather.check()
        found = tuple(npu for npu in read if npu is not None)
        for place, npu in enumerate(found):
            if npu.name in [other.name for other in found[:place]]:
                raise self.fail(("npu", place), f"there is a second '{npu.name}'; the key 'name' can tell them apart")
        return found

    def _npu(self, path: KeyPath, given: str | AcceleratorSpec) -> Accelerator:
        from evo_libra.network.catalog.accelerators import (  # noqa: PLC0415 - tables of layers do not need it
            accelerator,
            load_accelerator_specs,
            read_accelerator,
        )

        if isinstance(given, str):
            if given not in load_accelerator_specs():
                raise self.fail(path, unknown("accelerator", given, load_accelerator_specs()))
            return accelerator(given)
        try:
            return read_accelerator(format_key(path), given)
        except InputError as error:
            raise InputError(
                self.source.mistake(path, ": ".join(filter(None, (mistake.key, mistake.message))))
                for mistake in error.mistakes
            ) from None

    def choice(self, catalog: Catalog) -> NpuChoice:
        """Return the accelerators that designs may have; none where the file names none."""
        return npu_choice(self.npus, catalog.npus, self.capacities)

    @property
    def capacities(self) -> tuple[float, ...]:
        """Bytes that plans may use of each accelerator."""
        return tuple((1.0 - self.reserve) * npu.memory_capacity for npu in self.npus)

    @property
    def reserve(self) -> float:
        """Part of the capacity that stays free."""
        given = self.spec.memory.reserve
        default = SERVING_RESERVE if any(one.serving is not None for one in self.spec.workloads) else FRAGMENTS
        return default if given is None else given

    @property
    def rows(self) -> list[tuple[Accelerator, int, float]]:
        """Each accelerator with the NPUs of a network of it, and the bytes that plans may use of it."""
        counts = [self.spec.npus] * len(self.npus) if self.file.orders is None else self.file.orders.counts
        return list(zip(self.npus, counts, self.capacities, strict=True))

    @property
    def trains(self) -> bool:
        """Whether some workload is a training step or served, so that its times are those of an accelerator."""
        return any(one.training is not None or one.serving is not None for one in self.spec.workloads)

    def identity(self) -> dict[str, Any]:
        """Return the figures of the accelerators, which make a problem another one."""
        figures = [npu.figures() for npu in self.npus]
        return {"accelerator": figures[0] if len(figures) == 1 else figures} if figures else {}

    def check_memory(self) -> None:
        """Refuse a limit of an NPU's memory where the file does not say what NPU that is."""
        # Stored problems have every key, so that one with its default says nothing.
        if not self.npus and self.spec.memory != MemorySpec():
            raise self.fail(("memory",), "this is part of the memory of the problem's `npu`, and the file has none")

    def efficiency(self, catalog: Catalog) -> FloatArray | None:
        """Return (t,) the part of its bandwidth that traffic reaches in each technology; None where it is all.

        The factor of a transport comes on top of that of the ports or of the file. Of the ports of the accelerator it
        is what was measured, unless the file says otherwise. Tables of layers alone have the full bandwidth.
        """
        given = time_spec(self.spec).efficiency
        if isinstance(given, float):
            return np.array([given * transport_factor(technology) for technology in catalog.technologies])
        for name in given or {}:
            if name not in catalog.families:
                raise self.fail(("time", "efficiency", name), unknown("technology", name, catalog.families))
        own = {npu.name: npu for npu in self.npus}
        reached = []
        for technology in catalog.technologies:
            npu = own.get(technology.npu or next(iter(own), ""))
            bus = None if npu is None or not self.trains else npu.bus.get(technology.family)
            share = 1.0 if bus is None else min(bus.large_share, 1.0)
            ports = min((given or {}).get(technology.family, share), 1.0)
            reached.append(ports * transport_factor(technology))
        return np.array(reached) if min(reached) < 1.0 else None


def transport_factor(technology: Technology) -> float:
    """Return the part of its bandwidth that a technology's congestion control fills, 1 where it has none."""
    return 1.0 if technology.transport is None else TRANSPORTS[technology.transport].factor
