"""Families of a front: its designs grouped by topology, and short names that tell topologies and plans apart."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from evo_libra.arrays import IntArray
from evo_libra.network.blocks.registry import CODE
from evo_libra.network.fabric import NPU
from evo_libra.network.orders.text import is_order
from evo_libra.problem.question import FABRIC

if TYPE_CHECKING:
    from evo_libra.front.front import Front

_DIMENSION = re.compile(rf"(?P<block>(?:{CODE.pattern})?)\((?P<npus>\d+)\)(?:@(?P<technology>.*))?")


@dataclass(frozen=True)
class Families:
    """Designs of a front in groups, which come in the order of the front, that of their first designs.

    Attributes
    ----------
    names : short ones, all different, such as ``RI4_SW32``.
    topologies : of the first design of each in the notation, such as ``RI(4)@package_SW(32)@pod``.
    of : (n,) the family of each design.
    """

    names: tuple[str, ...]
    topologies: tuple[str, ...]
    of: IntArray

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def sizes(self) -> IntArray:
        """(f,) designs of each family."""
        return np.bincount(self.of, minlength=len(self.names))

    @property
    def labels(self) -> list[str]:
        """The name of the family of each design."""
        return [self.names[family] for family in self.of]


def families_of(front: Front) -> Families:
    """Return designs by topology: sizes, blocks and technologies of the dimensions, and the accelerator.

    A name has the codes of blocks and the sizes; technologies and accelerator are in it where another family would
    have the same name without them.
    """
    topologies, of = front.topologies
    return Families(tuple(_distinct(topologies, "_")), topologies, of)


def labels_of(front: Front) -> list[str]:
    """Return what each design is called: a fabric of switches by its name or links, others by their families."""
    if FABRIC in front.frame.columns:
        found: list[str] = front.frame[FABRIC].to_list()
        return found
    return families_of(front).labels


def structures_of(front: Front) -> Families:
    """Return designs by sizes and technologies of the dimensions, and the accelerator, such as ``4 x 32``."""
    topologies, of = front.topologies
    labels = _distinct([re.sub(rf"{CODE.pattern}\(", "(", topology) for topology in topologies], " x ")
    names = list(dict.fromkeys(labels))
    first = tuple(topologies[labels.index(name)] for name in names)
    places = np.array([names.index(label) for label in labels], dtype=np.int64)
    return Families(tuple(names), first, places[of])


def drawn_families(front: Front, most: int) -> Families:
    """Return the finest groups that a picture can tell apart: topologies where they are few, combinations otherwise."""
    families = families_of(front)
    return families if len(families) <= most else structures_of(front)


def family_rows(front: Front) -> list[dict[str, Any]]:
    """Return a row of each family: name, topology, number of designs, their ids, and the range of each objective."""
    families = families_of(front)
    found = (
        front.frame.with_columns(pl.Series("family", families.of))
        .group_by("family")
        .agg(
            pl.len().alias("designs"),
            pl.col("id").first().alias("first_id"),
            pl.col("id").last().alias("last_id"),
            *(pl.col(name).min().alias(f"min_{name}") for name in front.objectives),
            *(pl.col(name).max().alias(f"max_{name}") for name in front.objectives),
        )
        .sort("family")
    )
    names = zip(families.names, families.topologies, strict=True)
    return [
        {"family": name, "topology": topology, **{key: value for key, value in row.items() if key != "family"}}
        for (name, topology), row in zip(names, found.to_dicts(), strict=True)
    ]


def short_network(design: str) -> str:
    """Return the blocks and sizes of the dimensions of a design.

    >>> short_network("SW(8)@nvlink4:450_CL(2048)@optics-400g:50 | tp16 pp16x8 dp64 mb1")
    'SW8_CL2048'
    >>> short_network("SW(8)@nvlink4:450_CL17(2048)@optics-400g:50")
    'SW8_CL17(2048)'
    """
    if is_order(design):
        return design.partition(" | ")[0]
    parts, _ = _parts(re.sub(r":[^_]*", "", design.split(" ", maxsplit=1)[0]))
    return "_".join(_sized(block, npus) for block, npus, _ in parts)


def _sized(block: str, npus: str) -> str:
    """Return the short name of a dimension; a ratio of oversubscription stays apart from the NPUs."""
    return f"{block}({npus})" if block[-1:].isdigit() else block + npus


def short_plans(plans: Sequence[str]) -> tuple[list[str], str]:
    """Return plans without the words that all of them have, and these words.

    >>> short_plans(["tp8 dp4 mb1 overlap-tp", "tp8 dp2 mb2 overlap-tp"])
    (['dp4 mb1', 'dp2 mb2'], 'tp8 overlap-tp')
    """
    words = [plan.split() for plan in plans]
    if len(set(plans)) < 2:  # noqa: PLR2004 - one plan says nothing of a design
        return ["" for _ in plans], next(iter(plans), "")
    shared = set.intersection(*map(set, words))
    return [" ".join(w for w in each if w not in shared) for each in words], " ".join(
        word for word in words[0] if word in shared
    )


def _parts(topology: str) -> tuple[list[tuple[str, str, str]], str]:
    """Return block, NPUs and technology of the dimensions of a topology, and its accelerator; nothing where unnamed."""
    network, _, npu = topology.partition(f" {NPU}=")
    matches = [_DIMENSION.fullmatch(part) for part in network.split("_")]
    return [(one["block"], one["npus"], one["technology"] or "") for one in matches if one], npu


def _distinct(topologies: Sequence[str], joint: str) -> list[str]:
    """Return names that are short, different where the topologies are, with some text between the dimensions."""
    split = [_parts(topology) for topology in topologies]
    alike: dict[str, list[int]] = defaultdict(list)
    for place, (parts, _) in enumerate(split):
        alike[joint.join(_sized(block, npus) for block, npus, _ in parts)].append(place)
    names = list(topologies)
    for places in alike.values():
        technologies = np.array([[technology for *_, technology in split[place][0]] for place in places])
        differ = (technologies != technologies[:1]).any(axis=0)
        owners = len({split[place][1] for place in places}) > 1
        for place in places:
            parts, npu = split[place]
            named = (
                f"{_sized(block, npus)}@{technology}" if d else _sized(block, npus)
                for (block, npus, technology), d in zip(parts, differ, strict=True)
            )
            names[place] = (joint.join(named) + (f" {npu}" if owners else "")) or topologies[place]
    return names
