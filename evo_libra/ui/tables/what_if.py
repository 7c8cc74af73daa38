"""Other assumptions of a verdict as a user writes them, and the answers: sentences, a table, and a plot."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evo_libra.errors import InputError, counted, unknown, unusable
from evo_libra.ui.tables.output import new_console, print, print_sections

if TYPE_CHECKING:
    from evo_libra.experiment.store.folder import RunFolder
    from evo_libra.explain.candidates import Candidates
    from evo_libra.explain.tornado import Tornado
    from evo_libra.explain.what_if import Asked, WhatIf
    from evo_libra.front.front import Front
    from evo_libra.problem.problem import Problem
    from evo_libra.ui.tables.searched_again import Again


@dataclass(frozen=True, kw_only=True)
class Changes:
    """Other assumptions, as a user writes them."""

    price: tuple[str, ...] = ()
    power: str | None = None
    fail: tuple[str, ...] = ()
    npus: int | None = None
    workload: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    @property
    def any(self) -> bool:
        """Whether there are some."""
        return self.at_once or self.searches

    @property
    def at_once(self) -> bool:
        """Whether some of them are of the designs of the front."""
        return bool(self.price or self.fail or self.power)

    @property
    def searches(self) -> bool:
        """Whether some of them take a new search."""
        return bool(self.workload or self.without or self.npus is not None)


@dataclass(frozen=True)
class Changed:
    """The verdicts under other assumptions, and the assumptions that move it most; None where no sums decide."""

    ifs: tuple[WhatIf, ...] = ()
    tornado: Tornado | None = None
    note: str = ""

    @property
    def sentences(self) -> tuple[str, ...]:
        """A sentence or several for each assumption, and what they are of."""
        return (*(one.text for one in self.ifs), *([self.note] if self.note else []))

    def show(self) -> None:
        """Print the assumptions as a table and a plot."""
        if self.tornado is None or not self.tornado.swings:
            return
        from evo_libra.explain.tornado import tornado_section
        from evo_libra.pictures.plots.tornado import tornado_text

        print_sections([tornado_section(self.tornado)])
        console = new_console()
        print(tornado_text(self.tornado, console.width, ascii_only=console.options.ascii_only))
        print()

    def write(self, path: Path) -> None:
        """Write the plot; an `InputError` says that there is nothing to draw, or that it cannot be written."""
        from evo_libra.pictures.plots.tornado import tornado_png

        if path.suffix != ".png":
            raise InputError(f"--plot: found '{path}'; a file that ends in .png is needed")
        if self.tornado is None:
            raise InputError("--plot: no sums of money decide this verdict, so no assumption moves it by some")
        try:
            path.write_bytes(tornado_png(self.tornado))
        except OSError as error:
            raise unusable(path, "written", error) from None


def changed(
    changes: Changes, folder: RunFolder, front: Front, found: Candidates, problem: Problem | None, *, name: str | None,
    value: float | None, candidates: Callable[[Front, Problem], Candidates],
) -> Changed:  # fmt: skip
    """Return the verdicts on a front under other assumptions; an `InputError` says which of them cannot be.

    Parameters
    ----------
    found : the candidates of the stated verdict.
    problem : that of the front; None of one in Python, whose designs have no prices.
    name : the problem that a user names; `value` : the price of time that a user gives.
    candidates : returns those of another front and problem within the same limits.
    """
    if problem is None:
        if changes.any:
            raise InputError("only files that ask for a design or an order have prices and workloads to change")
        return Changed()
    from evo_libra.explain.tornado import tornado
    from evo_libra.explain.verdict import names_of
    from evo_libra.explain.verdict_basis import basis_of
    from evo_libra.explain.what_if import Asked

    basis = basis_of(front, found, problem, value)
    asked = Asked(basis, names_of(front))
    ifs = list(_at_once(changes, asked, front))
    if changes.searches:
        ifs += _searched(changes, _again(asked, folder, problem, name=name, candidates=candidates))
    rows = counted(len(front), front.noun)
    note = f"Prices and failures are those of the {rows} of the front. A new search with --set may find others."
    return Changed(tuple(ifs), tornado(basis, asked.names[basis.bought[0]]), note if changes.at_once else "")


def _at_once(changes: Changes, asked: Asked, front: Front) -> Iterator[WhatIf]:
    """Yield the verdicts that need no search."""
    from evo_libra.explain.failed_part import WHATS, if_failed
    from evo_libra.explain.what_if import read_energy, read_price

    prices = [_option("price", read_price, text) for text in changes.price]
    energy = None if changes.power is None else _option("power", read_energy, changes.power)
    yield from map(asked.price, prices)
    if energy is not None:
        yield asked.energy(energy)
    if len(prices) + (energy is not None) > 1:
        yield asked.together(prices, energy)
    for text in changes.fail:
        what = next((one for one in WHATS if one == text.lower()), None)
        if what is None:
            raise InputError(f"--fail: {unknown('part', text, list(WHATS))}")
        yield if_failed(asked, front.frame["design"].to_list(), what)


def _option(option: str, read: Callable[[str], Any], text: str) -> Any:  # noqa: ANN401 - what the function reads
    try:
        return read(text)
    except InputError as error:
        raise InputError(f"--{option}: {error}") from None


def _again(
    asked: Asked, folder: RunFolder, problem: Problem, *, name: str | None,
    candidates: Callable[[Front, Problem], Candidates],
) -> Again:  # fmt: skip
    from evo_libra.experiment.run.spec import spec_of
    from evo_libra.experiment.store.folder import MANIFEST
    from evo_libra.ui.tables.named_runs import given_of, problem_of_result
    from evo_libra.ui.tables.searched_again import Again

    origin, _ = problem_of_result(folder, name, given_of(folder))
    run = spec_of(folder.read_json(MANIFEST))
    return Again(asked, origin, problem, candidates, evaluations=run.evaluations, seed=run.seed)


def _searched(changes: Changes, again: Again) -> Iterator[WhatIf]:
    from rich.status import Status

    for text in changes.workload:  # mistakes are said before searches that take long
        again.read_workload(text)
    with Status("searching", console=new_console(stderr=True)):
        if changes.npus is not None:
            yield again.with_npus(changes.npus)
        yield from map(again.with_workload, changes.workload)
        yield from map(again.without, changes.without)
