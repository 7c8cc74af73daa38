"""The schema of a problem file that asks for an order: which products should be bought."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from evo_libra.network.orders.choices import OrderChoices
from evo_libra.problem.file.spec import FabricSpec, ObjectiveName, ProblemSpec, SharedSpec


class OrderSpec(SharedSpec, OrderChoices):
    """A problem file that asks for an order: which systems, how many, and which network around them."""

    question: Literal["order"] = Field("order", description="order: of products that can be bought")
    objectives: tuple[ObjectiveName, ...] = Field(
        ("time", "order-cost"), min_length=1, description="the objectives, all minimised"
    )

    def as_design(self) -> ProblemSpec:
        """Return what loaders of workloads, times and constraints read of it."""
        shared = {name: getattr(self, name) for name in SharedSpec.model_fields}
        return ProblemSpec.model_construct(
            **shared, npus=self.stated_npus, fabric=FabricSpec(catalog=self.fabric.catalog),
            objectives=self.objectives, bandwidth="ports",
        )  # fmt: skip
