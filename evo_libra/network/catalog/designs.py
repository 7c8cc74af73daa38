"""Reference designs by name: clusters that were built or that their makers draw, scaled as their sources allow."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Annotated

from pydantic import Field, RootModel

from evo_libra.files.source import StrictModel, packaged
from evo_libra.network.catalog.parts import DomainSize
from evo_libra.network.catalog.technologies import Name

DESIGNS_FILE = Path(__file__).with_name("designs.yaml")

_OPEN = "(N)"
_SIZE = re.compile(r"\((\d+)\)")


class StepsSpec(StrictModel):
    """The numbers of NPUs of clusters that grow by steps."""

    multiple_of: DomainSize = Field(description="NPUs of a step")
    at_most: DomainSize = Field(description="NPUs of the largest cluster that the source names")


class DesignSpec(StrictModel):
    """A reference design as the file writes it."""

    title: str = Field(min_length=1, description="what it is")
    design: str = Field(min_length=1, description="in the notation; N is the size of the dimension that grows")
    instead: dict[Name, tuple[Name, ...]] = Field(
        default_factory=dict, description="other names of a technology, where a catalogue has some"
    )
    npus: Annotated[tuple[DomainSize, ...], Field(min_length=1)] | StepsSpec = Field(description="of its clusters")
    source: str = Field(min_length=1, description="where it is described")
    year: int = Field(ge=1990, le=2100, description="of the source")


class _Catalogue(RootModel[dict[Name, DesignSpec]]):
    """All of the file."""


@dataclass(frozen=True)
class ReferenceDesign:
    """A cluster by name.

    Attributes
    ----------
    texts : its notation with N for the size of the dimension that grows, with each name of its technologies.
    sizes : numbers of NPUs, or None where it grows by `step` up to `largest`.
    """

    name: str
    title: str
    texts: tuple[str, ...]
    sizes: tuple[int, ...] | None
    step: int
    largest: int
    source: str
    year: int

    def at(self, npus: int) -> list[str]:
        """Return its notation with a number of NPUs; nothing where its source has no such cluster.

        >>> reference_designs()["dgx-h100-superpod"].at(1024)
        ['SW(8)@nvlink4:450_CL(128)@optics-400g:50', 'SW(8)@nvlink4:450_CL(128)@infiniband-ndr:50']
        """
        inside = prod(map(int, _SIZE.findall(self.texts[0])))
        listed = npus % self.step == 0 if self.sizes is None else npus in self.sizes
        if not listed or npus > self.largest or npus < 2 * inside:
            return []
        return [text.replace(_OPEN, f"({npus // inside})") for text in self.texts]


def load_design_specs() -> dict[str, DesignSpec]:
    """Return every reference design as the file says it, by name."""
    return packaged(_Catalogue, DESIGNS_FILE).root


def reference_designs() -> dict[str, ReferenceDesign]:
    """Return the reference designs, by name."""
    return {name: _reference(name, spec) for name, spec in load_design_specs().items()}


def _reference(name: str, spec: DesignSpec) -> ReferenceDesign:
    steps = spec.npus if isinstance(spec.npus, StepsSpec) else None
    sizes = spec.npus if isinstance(spec.npus, tuple) else None
    largest = max(sizes or ()) if steps is None else steps.at_most
    step = 1 if steps is None else steps.multiple_of
    others = [spec.design.replace(f"@{one}:", f"@{other}:") for one, names in spec.instead.items() for other in names]
    texts, source = (spec.design, *others), " ".join(spec.source.split())
    return ReferenceDesign(
        name=name, title=spec.title, texts=texts, sizes=sizes, step=step, largest=largest, source=source, year=spec.year
    )
