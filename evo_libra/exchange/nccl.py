"""Files of NCCL: bus bandwidths of nccl-tests, and the topology of a server from ``NCCL_TOPO_DUMP_FILE``."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from xml.parsers import expat

from evo_libra.errors import InputError, Mistake
from evo_libra.exchange.gpu_node import MOST_GPUS, MOST_LINKS, GpuNode

_PREFIX = re.compile(r"^\s*\[[0-9,]+\](<stdout>:)?\s?|^[A-Za-z][\w.-]*: (?=\s*[#0-9])|^\s+(?=#)")
_NAMED = re.compile(
    r"\b(all_reduce|all_gather|reduce_scatter|alltoall|broadcast|reduce|sendrecv|gather|scatter|hypercube)_perf"
)
_DEVICE = re.compile(r"\[0x[0-9a-f]+\][ \t]+(\S.*)", re.IGNORECASE)
_HOST = re.compile(r"\bon\s+(\S+)\s+device\b")
_NUMBER = re.compile(r"[0-9]{1,18}(\.[0-9]{1,9})?")
_RANK = re.compile(r"#\s+Rank\s+[0-9]+\s")
_WHOLE = 18
_SIZE, _TIME, _BUS, _WRONG = 0, -8, -6, -5
"""Columns; those of times are counted from the end, as older versions lack `root` or `redop` before them."""

_COLUMNS = (11, 12, 13)
_MICRO, _GIGA = 1e-6, 1e9


@dataclass(frozen=True)
class NcclRow:
    """A message: its size in bytes, seconds out of place, and bus bandwidth in B/s."""

    size: int
    seconds: float
    bus: float


@dataclass(frozen=True)
class NcclTable:
    """Rows of one test by size, its ranks, 0 where the header does not list them, its collective, and its hosts.

    Attributes
    ----------
    collective : as nccl-tests call it; `all_reduce` where the output does not say it.
    hosts : number of hosts that the ranks are on; 0 where the header does not list them.
    device : name of the GPUs; empty where the header has none or several.
    """

    ranks: int
    rows: tuple[NcclRow, ...]
    collective: str = "all_reduce"
    hosts: int = 0
    device: str = ""


def read_nccl_tests(text: str, file: str) -> NcclTable:
    """Return the rows of one test out of place; raises `InputError` with the line of what cannot be read."""
    rows: list[NcclRow] = []
    ranks, named, hosts, devices = 0, _NAMED.search(text), set[str](), set[str]()
    for at, raw in enumerate(text.splitlines(), 1):
        line = _PREFIX.sub("", raw)
        if _RANK.match(line):
            ranks += 1
            hosts.update(_HOST.findall(line))
            devices.update(found.strip() for found in _DEVICE.findall(line))
        words = line.split()
        if not words or not words[0].isascii() or not words[0].isdigit():
            if len(words) in _COLUMNS and words[0][:1].isdigit():
                raise InputError(Mistake(f"found {words[0]!r:.40}; bytes are needed", file, at, key="size"))
            continue
        row = _row(words, file, at)
        rows += [row] if row.size else []  # messages of less than a word of each rank move nothing
    if not rows:
        raise InputError(Mistake("no row of nccl-tests was found: size, count, type, redop, root, time, ...", file))
    sizes = [row.size for row in rows]
    if len(set(sizes)) < len(sizes):
        raise InputError(Mistake("a size comes twice; a file of one test is read", file, key="size"))
    collective = named[1] if named else "all_reduce"
    return NcclTable(ranks, tuple(sorted(rows, key=lambda row: row.size)), collective, len(hosts),
                     devices.pop() if len(devices) == 1 else "")  # fmt: skip


def _row(words: list[str], file: str, line: int) -> NcclRow:
    if len(words) not in _COLUMNS or len(words[_SIZE]) > _WHOLE:
        needed = "size, count, type, redop, root, and time, algbw, busbw, #wrong twice"
        message = f"found {len(words)} columns; {needed} are needed"
        raise InputError(Mistake(message, file, line))
    if words[_WRONG].isdigit() and int(words[_WRONG]):
        message = f"found {words[_WRONG]} wrong values; such a run measures nothing"
        raise InputError(Mistake(message, file, line, key="#wrong"))
    values = []
    for key, place in (("time", _TIME), ("busbw", _BUS)):
        if not _NUMBER.fullmatch(words[place]):
            raise InputError(Mistake(f"found {words[place]!r:.40}; a number is needed", file, line, key=key))
        values.append(float(words[place]))
    if values[0] <= 0:
        raise InputError(Mistake("found 0; a time above 0 is needed", file, line, key="time"))
    return NcclRow(int(words[_SIZE]), values[0] * _MICRO, values[1] * _GIGA)


def large_messages(table: NcclTable, least: float = 30e6) -> list[NcclRow]:
    """Return the messages of `least` bytes and more."""
    return [row for row in table.rows if row.size >= least]


_SWITCH_CLASS = "0x068000"
"""PCI class of an NVSwitch at the other end of a link."""

_MEGABIT = 1e6 / 8
_MOST_MEGABITS = 10**8


@dataclass
class _Gathered:
    """State of the reading; `busids` are those of the PCI devices that are open."""

    file: str
    opened: list[str] = field(default_factory=list)
    busids: list[str] = field(default_factory=list)
    gpus: list[str] = field(default_factory=list)
    capabilities: set[int] = field(default_factory=set)
    links: list[tuple[int, str, int, bool, int]] = field(default_factory=list)
    nics: list[float] = field(default_factory=list)
    devices: list[str] = field(default_factory=list)
    named: set[str] = field(default_factory=set)


class _Reader:
    """Handlers of expat; it names the line of every mistake."""

    def __init__(self, file: str) -> None:
        self.found = _Gathered(file)
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.StartDoctypeDeclHandler = self._doctype

    def _wrong(self, key: str, message: str) -> InputError:
        line, column = self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber + 1
        return InputError(Mistake(message, self.found.file, line, column, key))

    def _doctype(self, *_: object) -> None:
        raise self._wrong("DOCTYPE", "a document type and its entities are not read")

    def _number(self, element: str, attributes: dict[str, str], key: str, most: int) -> int:
        text = attributes.get(key)
        if text is None or not (
            text.isascii() and text.isdigit() and len(text) <= len(str(most)) and int(text) <= most
        ):
            raise self._wrong(f"{element}.{key}", f"found {text!r:.60}; a whole number up to {most} is needed")
        return int(text)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        found = self.found
        if not found.opened and name != "system":
            raise self._wrong(name, "found this element; a topology of NCCL begins with system")
        found.opened.append(name)
        if name == "pci":
            found.busids.append(attributes.get("busid", ""))
            found.devices.append(attributes.get("device", "").lower())
        elif name == "gpu":
            self._gpu(attributes)
        elif name == "nvlink":
            self._nvlink(attributes)
        elif name == "net":
            found.nics.append(self._number("net", attributes, "speed", _MOST_MEGABITS) * _MEGABIT)

    def _gpu(self, attributes: dict[str, str]) -> None:
        found = self.found
        busid = found.busids[-1] if found.busids else ""
        if not busid or busid in found.gpus:
            raise self._wrong("gpu", f"a GPU is in a pci element with a busid of its own; found {busid!r:.60}")
        if len(found.gpus) == MOST_GPUS:
            raise self._wrong("gpu", f"more than {MOST_GPUS} GPUs are not read")
        found.gpus.append(busid)
        found.named.add(found.devices[-1])
        found.capabilities.add(self._number("gpu", attributes, "sm", 999))

    def _nvlink(self, attributes: dict[str, str]) -> None:
        found = self.found
        if found.opened[-2:-1] != ["gpu"]:
            return  # links of CPUs and of switches
        target, kind = attributes.get("target", ""), attributes.get("tclass", "")
        count = self._number("nvlink", attributes, "count", MOST_LINKS)
        line = self.parser.CurrentLineNumber
        found.links.append((len(found.gpus) - 1, target, count, kind == _SWITCH_CLASS, line))

    def _end(self, name: str) -> None:
        self.found.opened.pop()
        if name == "pci":
            self.found.busids.pop()
            self.found.devices.pop()


def read_nccl_topology(text: str, file: str) -> GpuNode:
    """Return the server that a topology of NCCL describes; raises `InputError` with line and key."""
    reader = _Reader(file)
    try:
        reader.parser.Parse(text.encode("utf-8", "replace"), True)  # noqa: FBT003 - expat has no names here
    except expat.ExpatError as error:
        raise InputError(Mistake(f"is not XML: {expat.ErrorString(error.code)}", file, error.lineno)) from error
    return _node(reader.found)


def _node(found: _Gathered) -> GpuNode:
    if not found.gpus:
        message = "no GPU was found; the dump of `NCCL_TOPO_DUMP_FILE` has them, a file for `NCCL_TOPO_FILE` has none"
        raise InputError(Mistake(message, file=found.file, key="system"))
    if len(found.capabilities) > 1:
        several = ", ".join(map(str, sorted(found.capabilities)))
        raise InputError(Mistake(f"found GPUs of {several}; those of one kind are read", found.file, key="gpu.sm"))
    switched = [0] * len(found.gpus)
    peers: dict[tuple[int, int], int] = {}
    for gpu, target, count, to_switch, line in found.links:
        if to_switch:
            switched[gpu] += count
        elif target in found.gpus:
            pair = (gpu, found.gpus.index(target))
            peers[pair] = peers.get(pair, 0) + count
        else:
            message = f"found {target!r:.60}, which is neither a GPU of the file nor a switch"
            raise InputError(Mistake(message, found.file, line, key="nvlink.target"))
    if len(set(switched)) > 1:
        raise InputError(Mistake("GPUs have different numbers of links to switches", found.file, key="nvlink.count"))
    if switched[0] and peers:
        raise InputError(Mistake("GPUs have links to switches and to GPUs; one kind is read", found.file, key="nvlink"))
    for (first, second), count in peers.items():
        if peers.get((second, first)) != count or first == second:
            message = f"GPUs {first} and {second} do not agree on their links"
            raise InputError(Mistake(message, found.file, key="nvlink.count"))
    device = found.named.pop() if len(found.named) == 1 else ""
    return GpuNode(len(found.gpus), peers, switched[0], found.capabilities.pop(), nics=tuple(found.nics), device=device)
