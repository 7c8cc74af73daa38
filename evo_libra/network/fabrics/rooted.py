"""A fabric as seen from one NPU: classes of nodes, and links between them."""

from __future__ import annotations

from dataclasses import dataclass

from evo_libra.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Rooted:
    """Classes of nodes that a symmetry keeping the root moves onto one another; in a plain graph each is one node.

    Attributes
    ----------
    npus : number of classes of NPUs, which come first.
    size : (n,) nodes of each class.
    source, target : (a,) classes that an arc leads from and to; links have an arc for each direction.
    links : (a,) links of each node of the source that an arc stands for.
    orbit : (a,) kind of links, by which loads are added.
    relation : (a,) index of the relation that an arc belongs to.
    root : class of the root, which is a single NPU.
    weight : NPUs from which the fabric looks the same.
    values : (n NPU classes, digits) digits of the NPUs, by name; those of the root are in row `root`.
    failed : class of a switch that has failed; None for none.
    """

    npus: int
    size: FloatArray
    source: IntArray
    target: IntArray
    links: FloatArray
    orbit: IntArray
    relation: IntArray
    root: int
    weight: float
    values: IntArray
    failed: int | None = None


@dataclass(frozen=True)
class Orbits:
    """Kinds of directed links.

    Attributes
    ----------
    links : (o,) links of each kind.
    rate : (o,) B/s of a link.
    is_server : (o,) whether they are inside servers.
    """

    links: FloatArray
    rate: FloatArray
    is_server: BoolArray
