"""The table of a front, whose lines are made when they are shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from evo_libra.errors import InputError
from evo_libra.quantities import number
from evo_libra.ui.terminal.queue_view import Row, TableColumn

if TYPE_CHECKING:
    from evo_libra.front.front import Front


class FrontRows(Sequence[Row]):
    """The lines of the table of a front; each is made when it is shown."""

    def __init__(self, front: Front) -> None:
        self._values = [front.frame[column].to_list() for column in ("id", *front.objectives)]
        self._designs = front.frame["design"].to_list() if "design" in front.frame.columns else None
        self.columns = tuple(self._columns(front.objectives, "order" if front.noun == "order" else "network"))

    def _columns(self, objectives: Sequence[str], shape: str) -> Iterator[TableColumn]:
        yield TableColumn("id", max(len(f"{len(self)}"), 2), right=True)
        for rank, (column, values) in enumerate(zip(objectives, self._values[1:], strict=True)):
            ends = (number(value) for value in (values[0], values[-1]))  # the first objective is sorted
            yield TableColumn(column, max(len(column), 9, *map(len, ends)), right=True, rank=min(rank, 1))
        if self._designs is not None:
            yield TableColumn(shape, 0)

    def __len__(self) -> int:
        return len(self._values[0])

    def __getitem__(self, index: int) -> Row:  # type: ignore[override] # no code takes slices of a table on the screen
        design, *values = (column[index] for column in self._values)
        network = [] if self._designs is None else [_network(self._designs[index])]
        return Row(str(index), (str(design), *(number(value) for value in values), *network), ("dim",))


def _network(notation: str) -> str:
    """Return the shape of a design, without technologies and bandwidths; of an order its system, switch and ratios.

    >>> _network("112 gb200-nvl72 / 1 x 400G / th5-64 rail-optimised 2:1 | pp16 ep8")
    'gb200-nvl72 th5-64 2:1'
    """
    from evo_libra.network.fabric import parse_fabric
    from evo_libra.network.orders.text import is_order

    if is_order(notation):
        systems, *parts = notation.partition(" | ")[0].split(" / ")
        switch, *ratios = parts[-1].split() if parts else [""]
        kept = [word for word in ratios if ":" in word or word == "pods"]
        system = systems.partition(" ")[2].partition(" (")[0]
        return " ".join([system, switch, *kept]).strip()
    try:
        fabric = parse_fabric(notation)
    except InputError:
        return notation
    dimensions = tuple(replace(one, technology=None, bandwidth=None) for one in fabric.dimensions)
    return str(replace(fabric, dimensions=dimensions))
