"""Reference designs by name: clusters that were built or that their makers draw, scaled as their sources allow."""

from __future__ import annotations

import re
from math import prod
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, RootModel

from evo_libra.files.source import StrictModel, packaged
from evo_libra.network.catalog.parts_spec import DomainSize
from evo_libra.network.catalog.technologies import Name

DESIGNS_FILE = Path(__file__).with_name("designs.yaml")

_OPEN = "(N)"
_SIZE = re.compile(r"\((\d+)\)")


class StepsSpec(StrictModel):
    """The numbers of NPUs of clusters that grow by steps."""

    multiple_of: DomainSize = Field(description="NPUs of a step")
    at_most: DomainSize = Field(description="NPUs of the largest cluster that the source names")


Existence = Literal["built", "drawn", "roadmap", "research"]
EXISTENCE = "built: a user runs it; drawn: its maker's reference architecture; roadmap: announced; research: a paper's"


class ReferenceDesign(StrictModel):
    """A reference design as the file writes it."""

    title: str = Field(min_length=1, description="what it is")
    design: str = Field(min_length=1, description="in the notation; N is the size of the dimension that grows")
    instead: dict[Name, tuple[Name, ...]] = Field(
        default_factory=dict, description="other names of a technology, where a catalogue has some"
    )
    npus: Annotated[tuple[DomainSize, ...], Field(min_length=1)] | StepsSpec = Field(description="of its clusters")
    order_state: Existence = Field(description=EXISTENCE)
    source: str = Field(min_length=1, description="where it is described")
    year: int = Field(ge=1990, le=2100, description="of the source")

    @property
    def largest(self) -> int:
        """NPUs of its largest cluster."""
        return self.npus.at_most if isinstance(self.npus, StepsSpec) else max(self.npus)

    def at(self, npus: int) -> list[str]:
        """Return its notation with each name of its technologies; nothing where its source has no such cluster.

        >>> reference_designs()["dgx-h100-superpod"].at(1024)
        ['SW(8)@nvlink4:450_CL(128)@optics-400g:50', 'SW(8)@nvlink4:450_CL(128)@infiniband-ndr:50']
        """
        inside = prod(map(int, _SIZE.findall(self.design)))
        listed = npus % self.npus.multiple_of == 0 if isinstance(self.npus, StepsSpec) else npus in self.npus
        if not listed or npus > self.largest or npus < 2 * inside:
            return []
        design = self.design.replace(_OPEN, f"({npus // inside})")
        others = ((f"@{one}:", f"@{other}:") for one, names in self.instead.items() for other in names)
        return [design, *(design.replace(one, other) for one, other in others)]


class _Catalogue(RootModel[dict[Name, ReferenceDesign]]):
    """All of the file."""


def reference_designs() -> dict[str, ReferenceDesign]:
    """Return the reference designs, by name."""
    return packaged(_Catalogue, DESIGNS_FILE).root
