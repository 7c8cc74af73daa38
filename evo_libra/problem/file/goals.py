"""Objectives and constraints of a problem file, and what of their needs the file, its catalogue and its NPUs lack."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from evo_libra.arrays import GIGA
from evo_libra.errors import InputError
from evo_libra.network.catalog.technologies import Catalog
from evo_libra.problem.constraint_parser import parse_constraint
from evo_libra.problem.constraints import Constraint
from evo_libra.problem.figures import TotalCostOfOwnership, TrainingFigures
from evo_libra.problem.file.mistakes import ProblemFile
from evo_libra.problem.file.time import time_spec
from evo_libra.problem.needs import NO_TCO, NPU_PRICE, NPU_WATTS, ORDER, TCO, TOKENS, TRAINING, USERS, WATTS, refusal
from evo_libra.problem.npu_choice import NpuChoice
from evo_libra.problem.objectives import MEASURES
from evo_libra.problem.pricing.catalog import kits_of
from evo_libra.problem.system_bill import SystemBill
from evo_libra.problem.time_models.registry import time_kind

_REQUESTS = re.compile(r"(?<![\d.])(?P<number>\d{1,15}(?:\.\d{0,15})?)\s{0,9}(?P<kilo>k?)requests?/s(?![A-Za-z/])")
_KILO = 1e3
_PARTS = "needs a catalogue of parts: others have no watts"


class GoalLoader:
    """Reads the objectives, the constraints and the total cost of ownership of one file."""

    def __init__(self, file: ProblemFile) -> None:
        self.file, self.spec, self.fail = file, file.spec, file.fail

    def tco(self) -> TotalCostOfOwnership | None:
        """Return the figures of the total cost of ownership, if the file has some."""
        if self.spec.tco is None:
            self.check_needs(self.asked(()), {TCO: NO_TCO})
        return self.spec.tco

    def asked(self, constraints: Sequence[Constraint]) -> list[tuple[str, str]]:
        """Return the names of objectives, and of those that constraints limit, with the keys that name them."""
        found = [("objectives", name) for name in self.spec.objectives]
        return found + [("constraints", one.quantity) for one in constraints if one.quantity in MEASURES]

    def constraints(
        self, dimensions: int, catalog: Catalog, tco: TotalCostOfOwnership | None
    ) -> tuple[Constraint, ...]:
        """Return the constraints of the file."""
        found: list[Constraint] = []
        mistakes = []
        for index, text in enumerate(self.spec.constraints):
            try:
                these = self._constraint(text, dimensions, catalog, tco)
                found += these
                limited = [(c.quantity, c.measure.needs) for c in these if c.measure is not None]
                refused = refusal(limited, {} if kits_of(catalog) else {WATTS: _PARTS})
                if refused is not None:
                    raise InputError(f"'{text}': {refused[1]}")  # noqa: TRY301 - has its place
            except InputError as error:
                mistakes.append(self.file.source.mistake(("constraints", index), str(error)))
        if mistakes:
            raise InputError(mistakes)
        return tuple(found)

    def _constraint(
        self, text: str, dimensions: int, catalog: Catalog, tco: TotalCostOfOwnership | None
    ) -> tuple[Constraint, ...]:
        """Return the constraints of a line; requests per second are answers of the only workload, in tokens."""
        in_tokens = _REQUESTS.sub(lambda match: self._tokens(match, text), text)
        found = parse_constraint(in_tokens, dimensions, catalog.families, tco)
        return found if in_tokens == text or len(found) > 1 else (replace(found[0], text=text),)

    def _tokens(self, match: re.Match[str], text: str) -> str:
        served, *others = (workload.serving for workload in self.spec.workloads)
        if others or served is None or served.output is None:
            raise InputError(
                f"'{text}': requests per second need a single workload, which is served, with `output`; give tokens, "
                "such as 10 ktoken/s"
            )
        rate = float(match["number"]) * (_KILO if match["kilo"] else 1.0) * served.output
        return f"{rate:.17g} token/s"

    def limits(
        self,
        training: TrainingFigures | None,
        npu: NpuChoice,
        constraints: Sequence[Constraint],
        dimensions: int,
    ) -> tuple[Constraint, ...]:
        """Return the constraint that the memory of an NPU is; refuse what workloads or NPU have no figures for."""
        self.check_needs(self.asked(constraints), self._lacks(training, npu))
        if training is None or not npu.names:
            return ()
        found = parse_constraint(f"memory <= {npu.capacity.max() / GIGA:.10g} GB", dimensions, ())
        text = "memory <= the NPU's memory" if npu.several else found[0].text
        return tuple(replace(one, own_memory=True, text=text) for one in found)

    def _lacks(self, training: TrainingFigures | None, npu: NpuChoice) -> dict[str, str]:
        """Return what workloads and NPUs do not say, by the needs of objectives."""
        found, workloads = dict[str, str](), self.spec.workloads
        if self.file.orders is None:
            found[ORDER] = "is of an order; `question: order` with `systems` asks for one"
        if all(one.training is not None or one.serving is not None for one in workloads):
            untrained = "is of training and serving language models: a recommendation model has no tokens"
        else:
            untrained = "is of training steps and serving: every workload needs the key 'training' or 'serving'"
        if training is None:
            found[TRAINING] = untrained
        elif training.tokens is None:
            found[TOKENS] = untrained
        if not any(workload.serving for workload in workloads):
            found[USERS] = "is of serving: some workload needs the key 'serving'"
        if npu.watts is None:
            found[NPU_WATTS] = f"needs the power of an NPU, and {npu.why_unknown('power_W', 'power')}"
        if npu.price is None:
            found[NPU_PRICE] = f"needs the price of an NPU, and {npu.why_unknown('price_usd', 'price')}"
        return found

    def check_needs(self, asked: Sequence[tuple[str, str]], lacks: Mapping[str, str]) -> None:
        """Refuse the first objective or constraint, by its key, that needs what is lacking; see `refusal`."""
        found = refusal(((name, MEASURES[name].needs) for _, name in asked), lacks)
        if found is not None:
            raise self.fail((asked[found[0]][0],), found[1])

    def check_system(self, system: SystemBill, constraints: Sequence[Constraint]) -> None:
        """Refuse objectives and constraints that need a figure which a row of the bill lacks."""
        if not system.rows:
            return
        from evo_libra.problem.file.system import SystemLoader  # noqa: PLC0415 - tables of layers do not need it

        self.check_needs(self.asked(constraints), SystemLoader(self.file).lacks(system))

    def check_mode(self, mode: str, *, parts: bool) -> None:
        """Refuse a way to choose bandwidths, or an objective, that the catalogue or the time does not allow."""
        model = time_spec(self.spec).model
        if mode == "optimal" and not time_kind(model).solves:
            raise self.fail(
                ("bandwidth",),
                f"bandwidths are solved for under LIBRA's time; with `time: {model}` they are searched, or a front of "
                "LIBRA's time is rescored",
            )
        traces = [index for index, workload in enumerate(self.spec.workloads) if workload.trace is not None]
        if mode == "optimal" and traces:
            raise self.fail(
                ("workloads", traces[0], "trace"),
                "bandwidths can be solved for only where all workloads are training loops; with `bandwidth: "
                f"{'ports' if parts else 'search'}` a problem with a trace can be searched",
            )
        if parts and mode == "search":
            raise self.fail(("bandwidth",), "bandwidths of parts come in ports; use `bandwidth: ports`")
        if not parts and mode == "ports":
            raise self.fail(
                ("bandwidth",), "the catalogue has prices per bandwidth, but no ports; use search or optimal"
            )
        robust = [name for name in self.spec.objectives if MEASURES[name].statistic is not None]
        if mode == "optimal" and robust:
            raise self.fail(
                ("objectives",),
                f"bandwidths are solved for at stated prices and weights, and {robust[0]} is over scenarios; with "
                f"`bandwidth: {'ports' if parts else 'search'}` they are searched",
            )
        seen = [name for name in self.spec.objectives if USERS in MEASURES[name].needs]
        if mode == "optimal" and seen:
            raise self.fail(
                ("objectives",),
                f"bandwidths are solved for the least time of whole requests, and {seen[0]} is of a part of them; with "
                f"`bandwidth: {'ports' if parts else 'search'}` they are searched",
            )
        self.check_needs(self.asked(()), {} if parts else {WATTS: _PARTS})
