"""What the words of a problem file allow, read one by one and from the file alone; and files and designs to try."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from random_problems import TECHNOLOGIES, write_problem

from evo_libra.network.bill import fits
from evo_libra.network.blocks import Kit
from evo_libra.network.blocks.registry import BLOCK_NAMES, BLOCKS
from evo_libra.network.catalog.accelerators import load_accelerators
from evo_libra.network.catalog.parts import load_any, load_parts
from evo_libra.network.catalog.parts_spec import PartsSpec
from evo_libra.network.catalog.technologies import Technology, load_catalog
from evo_libra.network.fabric import Dimension, Fabric, parse_fabric

Pick = Callable[[Sequence[Any]], Any]
_NEAR = 1e-9


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
        """Return whether a network is one that the file asks for; plans, memory and constraints are not looked at."""
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
        )

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


def write_words(folder: Path, pick: Pick) -> Path:
    """Write a problem file in whose fabric every kind of word may stand, for time against cost; return its path."""
    path = write_problem(folder, pick)
    data = json.loads(path.read_text())
    data["objectives"] = ["time", "cost"]
    data.pop("uncertainty", None)
    fabric, depth = data["fabric"], data["fabric"]["max_dimensions"]
    parts = fabric["catalog"] in TECHNOLOGIES
    if parts:
        data["bandwidth"] = "ports"
        known = [block for name in fabric["technologies"] for block in TECHNOLOGIES[fabric["catalog"]][name]]
        fabric["blocks"] = pick([fabric["blocks"], fabric["blocks"], known])
        fabric["oversubscription"] = pick([[], [2], [4, [1, 2]]])
        if not {"switch", "fat-tree"} & set(fabric["blocks"]):
            del fabric["oversubscription"]
    else:
        data["bandwidth"] = {"mode": "search", "max_GBps": 777.7, "min_GBps": pick([0.1, 5])}
        fabric |= pick([{}, {"blocks": ["ring", "switch"]}, {"blocks": ["switch"]}])
    fabric["one_dimension_per_technology"] = pick([False, False, True])
    fabric["min_dimensions"] = pick(range(1, depth + 1))
    block = pick(fabric.get("blocks", ["ring", "switch"]))
    pin: dict[str, Any] = {"dimension": pick(range(depth))}
    pin |= pick([{"npus": pick([2, 4, 8])}, {"block": block}, {"npus": 4, "block": block}, {"bandwidth_GBps": 50}])
    fabric |= pick([{}, {}, {"pin": [pin]}])
    path.write_text(json.dumps(data))
    return path


@dataclass(frozen=True)
class Drawing:
    """Designs in the notation, drawn from all that catalogue and notation can say, in the file's space or not."""

    words: Words
    plans: Sequence[Sequence[str]]
    npus: Sequence[str | None]
    known: Sequence[Fabric]
    random: np.random.Generator

    def pick(self, items: Sequence[Any]) -> Any:
        return items[int(self.random.integers(len(items)))]

    def designs(self, count: int) -> list[str]:
        """Return so many designs, each once; fewer of a space that has hardly more than that."""
        found = dict[str, None]()
        for _ in range(3 * count):
            found[str(self.one())] = None
            if len(found) == count:
                break
        return list(found)

    def one(self) -> str:
        """Return a design: one that the search knows with a change, one near the words of the file, or any other."""
        kind = self.random.random()
        if kind < 0.5:
            return self._changed(self.pick(self.known))
        near = kind < 0.8
        sizes = self._sizes(self.words.data["npus"], near=near)
        names = self._names(len(sizes), near=near)
        dimensions = tuple(
            self._dimension(d, size, name, near=near) for d, (size, name) in enumerate(zip(sizes, names, strict=True))
        )
        fabric = replace(self.pick(self.known), dimensions=dimensions)
        return str(replace(fabric, npu=self.pick(self.npus), spares=self._spares(), plans=self._plans()))

    def _changed(self, fabric: Fabric) -> Fabric:
        """Return a design with another block, technology or bandwidth in a dimension, or other plans or spares."""
        dimensions = list(fabric.dimensions)
        d = self.pick(range(len(dimensions)))
        other = self._dimension(d, dimensions[d].npus, dimensions[d].technology or "", near=self.pick([True, False]))
        change = self.pick(["none", "bandwidth", "block", "technology", "order", "split", "plans", "spares", "npu"])
        if change in ("bandwidth", "block"):
            dimensions[d] = replace(dimensions[d], **{change: getattr(other, change)})
        if change == "technology":
            dimensions[d] = replace(dimensions[d], technology=self.pick(self.words.names))
        if change == "order":
            dimensions.reverse()
        if change == "split" and dimensions[d].npus % 2 == 0 and dimensions[d].npus > 2:
            half = replace(dimensions[d], npus=dimensions[d].npus // 2)
            dimensions[d : d + 1] = [half, replace(half, npus=2)]
        changes: dict[str, Any] = {"plans": self._plans} if change == "plans" else {}
        changes |= {"spares": self._spares} if change == "spares" else {}
        changes |= {"npu": lambda: self.pick(self.npus)} if change == "npu" else {}
        return replace(fabric, dimensions=tuple(dimensions), **{key: draw() for key, draw in changes.items()})

    def _plans(self) -> tuple[str, ...]:
        return tuple(self.pick(texts) for texts in self.plans)

    def _spares(self) -> int:
        given = (self.words.data.get("faults") or {}).get("spares", 0)
        offered = given if isinstance(given, list) else [given]
        return int(self.pick([*offered, *offered, 3])) if "faults" in self.words.data else 0

    def _sizes(self, left: int, *, near: bool) -> list[int]:
        most = self.words.fabric.get("max_dimensions", 4)
        depth, found = int(self.random.integers(1, most + 1)), list[int]()
        while left > 1 and len(found) < depth - 1:
            pin = self.words.pins.get(len(found), {}).get("npus") if near else None
            some = [size for size in range(2, left + 1) if left % size == 0]
            found.append(pin if pin in some else self.pick(some))
            left //= found[-1]
        return found + ([left] if left > 1 else [])

    def _names(self, count: int, *, near: bool) -> list[str]:
        known = self.words.names
        if not near:
            known = list(dict.fromkeys([*known, *(name for name, _ in self.words.kits)]))
        places = self.random.integers(len(known), size=count)
        return [known[place] for place in (np.sort(places) if near else places)]

    def _dimension(self, d: int, size: int, name: str, *, near: bool) -> Dimension:
        words, pin = self.words, self.words.pins.get(d, {}) if near else {}
        bases = [block for known, block in words.kits if known == name] or ["ring", "fully-connected", "switch"]
        codes = {block.name: block.code for block in BLOCKS}
        block = pin.get("block") or self.pick(bases)
        if near and words.kits and ratio_of(block)[1] == (1, 1):
            ratios = [
                (leaf, pod) for leaf, pod in sorted(words.ratios) if f"{block}-{leaf}" in codes or (leaf, pod) == (1, 1)
            ]
            leaf, pod = self.pick(ratios)
            block = block if (leaf, pod) == (1, 1) else f"{block}-{leaf}" + (f"-{pod}" if pod > 1 else "")
        elif not near:
            block = self.pick([block, *(one for one in codes if ratio_of(one)[0] == block)])
        kit = words.kits.get((name, ratio_of(block)[0]))
        if pin.get("bandwidth_GBps"):
            speed = float(pin["bandwidth_GBps"])
        elif kit is None:
            speed = float(self.pick([0.05, 3.0, 20.0, 33.3, 400.0, 777.7, 900.0]))
        else:
            speed = kit.port_rate / 1e9 * self.pick([1, 1, 2, 2, 3, 4, 6, 9, 18] if near else [0.5, 1, 2, 4, 19])
        return Dimension(BLOCK_NAMES.index(block), size, name, speed * 1e9)
