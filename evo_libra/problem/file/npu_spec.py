"""The schema of the accelerators of a problem file."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from evo_libra.network.catalog.accelerators import AcceleratorSpec

Npu = str | AcceleratorSpec | Annotated[tuple[str | AcceleratorSpec, ...], Field(min_length=1)]
