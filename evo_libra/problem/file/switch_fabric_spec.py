"""The schema of a problem file that asks for a fabric: which switches there are, and what is joined to what."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from evo_libra.files.fields import PositiveFloat
from evo_libra.files.source import StrictModel
from evo_libra.network.fabrics.layered import SERVER_RATE
from evo_libra.problem.file.hardware_spec import Npu
from evo_libra.problem.file.memory_spec import MemorySpec
from evo_libra.problem.file.spec import FabricSpec, ProblemSpec, SearchSpec, WorkloadSpec
from evo_libra.problem.switch_fabrics.bill import FabricPrices

Paths = Literal["shortest", "striped"]
Forwarding = Literal["none", "server", "any"]
ObjectiveName = Literal["time", "cost", "hops", "switches"]


class RoutingSpec(StrictModel):
    """Ways of messages, which decide the order of fabrics."""

    paths: Paths = Field(
        "striped",
        description="shortest: all shortest paths evenly; striped: each kind of ports of an NPU takes its part",
    )
    forwarding: Forwarding = Field(
        "server", description="NPUs that forward: none, those of the sender's and the receiver's server, or any"
    )


class FabricLimits(StrictModel):
    """Limits of parts, by default those of ATOP for 16,384 NPUs."""

    switch_Tbps: PositiveFloat = Field(51.2, description="Tb/s of a switch")
    nic_ports: Annotated[int, Field(ge=1, le=64)] = Field(8, description="NIC ports of an NPU")
    npu_Tbps: PositiveFloat = Field(1.6, description="Tb/s of all NIC ports of an NPU")


class SwitchFabricChoices(StrictModel):
    """Keys of a file that asks for a fabric, and of no other file."""

    npus: Annotated[int, Field(ge=4, le=1 << 15)] = Field(description="number of NPUs, a power of two")
    server: Annotated[int, Field(ge=1, le=1 << 10)] = Field(8, description="NPUs of a server, a power of two")
    server_GBps: PositiveFloat = Field(SERVER_RATE / 1e9, description="bandwidth of an NPU to the others of its server")
    routing: RoutingSpec = Field(default_factory=RoutingSpec, description="ways of messages")
    limits: FabricLimits = Field(default_factory=FabricLimits, description="limits of parts")
    prices: FabricPrices = Field(default_factory=FabricPrices, description="prices of parts")
    objectives: tuple[ObjectiveName, ...] = Field(
        ("time", "cost"),
        min_length=1,
        description="the objectives, all minimised: time of a step, cost of the network, hops (mean path length in "
        "links), and switches",
    )


class SwitchFabricSpec(SwitchFabricChoices):
    """A problem file that asks for a fabric of switches."""

    question: Literal["fabric"] = Field("fabric", description="fabric: of layers of switches and links between them")
    version: Literal[1] = Field(1, description="version of this schema")
    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", description="name, also of the folder of results")
    npu: Npu = Field(description="the accelerator, as in other problem files")
    memory: MemorySpec = Field(MemorySpec(), description="how much of an NPU's memory plans may use")
    workloads: tuple[WorkloadSpec, ...] = Field(min_length=1, description="the workloads that run on it")
    search: SearchSpec = Field(SearchSpec(), description="how the search runs")

    def as_design(self) -> ProblemSpec:
        """Return what loaders of workloads read of it."""
        return ProblemSpec.model_construct(
            name=self.name, npus=self.npus, npu=self.npu, memory=self.memory, workloads=self.workloads,
            fabric=FabricSpec(catalog="libra"),
        )  # fmt: skip
