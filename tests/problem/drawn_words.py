"""Problem files whose fabric has words of every kind, and designs in the notation to try them with."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from file_words import Words, ratio_of
from random_problems import TECHNOLOGIES, Pick, write_problem

from evo_libra.network.blocks.registry import BLOCK_NAMES, BLOCKS
from evo_libra.network.fabric import Dimension, Fabric


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
        """Return `count` designs, each once; fewer of a space that has hardly more."""
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
