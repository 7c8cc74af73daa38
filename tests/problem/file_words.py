"""What the words of a problem file allow, read one by one and from the file alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import gcd
from pathlib import Path
from typing import Any

import numpy as np

from evo_libra.network.bill import fits
from evo_libra.network.blocks import Kit
from evo_libra.network.blocks.registry import BLOCK_NAMES, BLOCKS
from evo_libra.network.catalog.accelerators import load_accelerators
from evo_libra.network.catalog.parts import load_any, load_parts
from evo_libra.network.catalog.parts_spec import PartsSpec
from evo_libra.network.catalog.technologies import Technology, load_catalog
from evo_libra.network.fabric import Dimension, Fabric, parse_fabric

_NEAR = 1e-9
_SIZES = ("capacity_GB", "bandwidth_GBps")


def tensor_group(workload: Mapping[str, Any], plan: str) -> tuple[int, bool]:
    """Return the NPUs of a tensor parallel group, and whether loads and stores must reach all of them.

    They must unless the file lets the group leave its domain, and even then under a plan that overlaps its traffic.
    The degree is the plan's, or where the design names no plan the file's. Tables of layers have the rule if the file
    asks for it, and served models have none.
    """
    if workload.get("tp_domain") == "scale-up":
        assert next(iter(dict(workload["parallelism"]))) == "tp", "other orders do not have the group innermost"
        return dict(workload["parallelism"])["tp"], True
    training = workload.get("training", {})
    if "sequence" not in training:
        return 1, False
    assert training["order"][0] == "tp", "other orders do not have the group innermost"
    words = plan.split()
    named = [int(word.removeprefix("tp")) for word in words if word.removeprefix("tp").isdigit()]
    tp = (named or [1])[0] if plan else workload["parallelism"]["tp"]
    # The only degree of a file has the overlap that the file says; of several ones a plan says it.
    overlaps = "overlap-tp" in words or (isinstance(workload["parallelism"]["tp"], int) and training["overlap"]["tp"])
    return tp, training.get("tp_domain") != "any" or overlaps


def ratio_of(block: str) -> tuple[str, tuple[int, int]]:
    """Return the block of 1:1 and the ratio behind the name of a fat tree, such as switch-1-7; (1, 1) of others."""
    for base in ("fat-tree", "switch"):
        if block.startswith(f"{base}-"):
            numbers = [int(part) for part in block.removeprefix(f"{base}-").split("-")]
            return base, (numbers[0], numbers[1] if len(numbers) > 1 else 1)
    return block, (1, 1)


@dataclass(frozen=True)
class Words:
    """A problem file as its reader understands it, `data` as it is written and `folder` where it lies."""

    data: Mapping[str, Any]
    folder: Path

    @property
    def fabric(self) -> Mapping[str, Any]:
        return self.data["fabric"]

    @cached_property
    def kits(self) -> dict[tuple[str, str], Kit]:
        """The kits of a catalogue of parts by technology and block; none of a catalogue of prices."""
        if not isinstance(load_any(self.fabric["catalog"], self.folder), PartsSpec):
            return {}
        found = load_parts(self.fabric["catalog"], self.folder).kits
        return {(kit.technology, BLOCK_NAMES[kit.block]): kit for kit in found}

    @cached_property
    def names(self) -> list[str]:
        """The technologies that may be used, the innermost first."""
        if "technologies" in self.fabric:
            return list(self.fabric["technologies"])
        return list(
            dict.fromkeys(name for name, _ in self.kits) or load_catalog(self.fabric["catalog"], self.folder).names
        )

    @cached_property
    def prices(self) -> dict[str, Technology]:
        """The technologies of a catalogue of prices."""
        return {one.name: one for one in load_catalog(self.fabric["catalog"], self.folder).technologies}

    @cached_property
    def ratios(self) -> set[tuple[int, int]]:
        """The ratios of fat trees that the file asks for, beside 1:1."""
        given = self.fabric.get("oversubscription", [])
        return {(one, 1) if isinstance(one, int) else tuple(one) for one in given} | {(1, 1)}

    @cached_property
    def pins(self) -> dict[int, Mapping[str, Any]]:
        """What is pinned of each dimension."""
        if "shape" not in self.fabric:
            return {pin["dimension"]: pin for pin in self.fabric.get("pin", [])}
        whole = parse_fabric(self.fabric["shape"]).dimensions
        found = [{"npus": one.npus, "block": BLOCKS[one.block].name, "technology": one.technology,
                  "bandwidth_GBps": one.bandwidth and one.bandwidth / 1e9} for one in whole]  # fmt: skip
        return dict(enumerate(found))

    def ports(self, technology: str, npu: str | None) -> int | None:
        """Return the ports that an accelerator has of a technology; None where it has any number of them."""
        given = self.data.get("npu")
        each = given if isinstance(given, list) else [given] if given else []
        if not each:
            return None
        names = [one.get("name", f"npu[{place}]") for place, one in enumerate(each)]
        ports = each[names.index(npu) if len(each) > 1 else 0]["ports"]
        if technology in ports:
            return int(ports[technology])
        return 0 if any(technology in one.ports for one in load_accelerators().values()) else None

    def kit(self, one: Dimension, npu: str | None) -> Kit | None:
        """Return what a dimension is built of, with the domains that the file asks for; None if nothing builds it."""
        base, ratio = ratio_of(BLOCKS[one.block].name)
        kit, blocks = self.kits.get((one.technology or "", base)), self.fabric.get("blocks")
        asked = blocks is None or base in blocks or BLOCKS[one.block].name in blocks
        if kit is None or not asked or ratio not in self.ratios:
            return None
        domains, own = self.fabric.get("domains", "products"), self.ports(kit.technology, npu)
        if isinstance(domains, dict):
            sold: tuple[int, ...] | None = tuple(domains.get(kit.technology, kit.domains or ())) or None
        else:
            sold = None if domains == "any" else kit.domains
        ports = kit.ports if own is None else min(kit.ports, own)
        return replace(kit, block=one.block, domains=sold, ports=ports) if ports and sold != () else None

    def allows(self, fabric: Fabric) -> bool:
        """Return whether a design is one that the file asks for; memory and constraints are left out.

        Of plans, only where a tensor parallel group may lie is looked at.
        """
        depth, least = len(fabric.dimensions), self.fabric.get("min_dimensions", 1)
        most = len(self.pins) if "shape" in self.fabric else self.fabric.get("max_dimensions", 4)
        faults = self.data.get("faults") or {}
        spares = faults.get("spares", 0)
        return (
            max([least, *(d + 1 for d in self.pins)]) <= depth <= most
            and all(self._pinned(d, one) for d, one in enumerate(fabric.dimensions))
            and all(one.technology in self.names for one in fabric.dimensions)
            and self._ordered(fabric)
            and (self._of_parts(fabric) if self.kits else self._of_prices(fabric))
            and fabric.spares in (spares if isinstance(spares, list) else [spares])
            and self._holds_tensor(fabric)
        )

    def _holds_tensor(self, fabric: Fabric) -> bool:
        """Return whether each tensor parallel group lies where NPUs load and store from each other, or may leave it."""
        plans = iter(fabric.plans)
        groups = [
            tensor_group(workload, next(plans) if self.has_plans(workload) else "")
            for workload in self.data["workloads"]
        ]
        assert next(plans, None) is None, "a plan of the design is that of no workload"
        return all(self._loads_and_stores(fabric, tp) for tp, inside in groups if inside)

    def _loads_and_stores(self, fabric: Fabric, tp: int) -> bool:
        """Return whether a number of innermost NPUs are joined without NICs; each dimension gives what divides both."""
        for one in fabric.dimensions:
            part = gcd(tp, one.npus)
            if part > 1 and self.has_nics(one.technology or ""):
                return False
            tp //= part
        return True

    def has_nics(self, technology: str) -> bool:
        """Return whether links of a technology end at NICs, which do not load and store."""
        if self.kits:
            return any(kit.nic is not None for (name, _), kit in self.kits.items() if name == technology)
        return bool(self.prices[technology].nic)

    def has_plans(self, workload: Mapping[str, Any]) -> bool:
        """Return whether designs name the plan of a workload, as the file leaves some of it open."""
        if "serving" in workload:
            return True
        training = workload.get("training", {})
        if "sequence" not in training:
            return False
        expansion = (self.data.get("memory") or {}).get("expansion", {})
        values = [training["micro_batch"], training["zero"], training["recompute"], *workload["parallelism"].values(),
                  training.get("optimizer", {}).get("placement"), *(expansion.get(key) for key in _SIZES)]  # fmt: skip
        return isinstance(self.data["npu"], list) or any(one == "any" or isinstance(one, list) for one in values)

    def largest_domain(self, npu: str | None) -> int | None:
        """Return the most NPUs that links without NICs join around an accelerator; None for no limit."""
        found, near = 1, [name for name in self.names if not self.has_nics(name)]
        if near and not self.kits:
            return None
        for name in near:
            blocks = [Dimension(BLOCK_NAMES.index(block), 2, name) for known, block in self.kits if known == name]
            kits = [kit for one in blocks if (kit := self.kit(one, npu)) is not None]
            sizes = [max(kit.domains) if kit.domains else kit.domain_size for kit in kits]
            if None in sizes:
                return None
            found *= max((size for size in sizes if size is not None), default=1)
        return found

    def _pinned(self, d: int, one: Dimension) -> bool:
        pin = self.pins.get(d, {})
        found = {"npus": one.npus, "block": BLOCKS[one.block].name, "technology": one.technology}
        same = all(pin.get(key) in (None, value) for key, value in found.items())
        stated = pin.get("bandwidth_GBps")
        return same and (stated is None or abs((one.bandwidth or 0) / 1e9 / stated - 1) < _NEAR)

    def _ordered(self, fabric: Fabric) -> bool:
        """Return whether technologies never go back inwards, and none that comes once is there twice."""
        places = [self.names.index(one.technology or "") for one in fabric.dimensions]
        for d, (before, after) in enumerate(pairwise(places), start=1):
            once = self.fabric.get("one_dimension_per_technology", False)
            if self.kits:
                kit = self.kit(fabric.dimensions[d], fabric.npu)
                once |= kit is not None and kit.domains is not None
            if after < before or (after == before and once):
                return False
        return True

    def _of_parts(self, fabric: Fabric) -> bool:
        inside, taken = 1, dict[str, float]()
        for one in fabric.dimensions:
            kit = self.kit(one, fabric.npu)
            if kit is None or not fits(kit, np.array([one.npus]), np.array([inside]))[0]:
                return False
            ports = (one.bandwidth or 0) / kit.port_rate
            step = int(BLOCKS[kit.block].quantum(np.array([one.npus]), kit)[0])
            if round(ports) < 1 or abs(ports - round(ports)) > _NEAR * ports or round(ports) % step:
                return False
            taken[kit.technology] = taken.get(kit.technology, 0) + round(ports)
            if taken[kit.technology] > kit.ports:
                return False
            inside *= one.npus
        return True

    def _of_prices(self, fabric: Fabric) -> bool:
        stated = self.data["bandwidth"] if isinstance(self.data["bandwidth"], dict) else {}
        low, high = stated.get("min_GBps", 0.1) * 1e9, stated.get("max_GBps", 1000) * 1e9
        for d, one in enumerate(fabric.dimensions):
            technology, block = self.prices[one.technology or ""], BLOCKS[one.block].name
            blocks = self.fabric.get("blocks", technology.blocks)
            if block not in technology.blocks or block not in blocks:
                return False
            if technology.largest_dimension is not None and one.npus > technology.largest_dimension:
                return False
            cap, speed = technology.bandwidth_cap or np.inf, one.bandwidth or 0.0
            pinned = self.pins.get(d, {}).get("bandwidth_GBps") is not None
            most = cap if pinned else min(high, cap)
            least = 0.0 if pinned else min(low, most)
            if speed > most * (1 + _NEAR) or speed < least * (1 - _NEAR):
                return False
        return True
