"""The schema of what a problem file says of failures."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from evo_libra.files.source import StrictModel
from evo_libra.network.catalog.failures import Hours, PerYear
from evo_libra.network.catalog.technologies import Name
from evo_libra.problem.file.fields import PositiveFloat, PositiveInt

Spares = Annotated[int, Field(ge=0, le=10**9)]


class FaultsSpec(StrictModel):
    """Failures, checkpoints and spares; figures of what is left out are those of `evo-libra catalog failures`."""

    checkpoint_s: Annotated[float, Field(ge=0, le=1e9)] = Field(
        description="time that training stops for while a checkpoint is written"
    )
    restart_s: Annotated[float, Field(ge=0, le=1e9)] = Field(
        description="time from a failure to the work after it: to find it, to start again and to read the checkpoint; "
        "repairs that are waited for come on top"
    )
    interval_s: PositiveFloat | None = Field(
        None, description="time of work between two checkpoints; the best one of each design when left out"
    )
    host_npus: PositiveInt = Field(8, description="NPUs of a host, which fail and are replaced together")
    spares: Spares | Annotated[tuple[Spares, ...], Field(min_length=1)] = Field(
        0, description="spare NPUs, wired as all others; from a list the search chooses one"
    )
    per_year: dict[Name, PerYear] = Field(
        default_factory=dict,
        description="other failures of a piece in a year, by kind (npu, host, software, link, transceiver, nic, "
        "switch, ocs) or by the name of a part",
    )
    repair_h: dict[Name, Hours] = Field(
        default_factory=dict, description="other mean times of repair in hours, by kind or by the name of a part"
    )
