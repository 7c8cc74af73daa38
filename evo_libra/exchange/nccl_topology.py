"""The topology that NCCL writes to ``NCCL_TOPO_DUMP_FILE``: XML of a server's GPUs, NVLinks and interfaces."""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.parsers import expat

from evo_libra.errors import InputError, Mistake
from evo_libra.exchange.gpu_node import MOST_GPUS, MOST_LINKS, GpuNode

_SWITCH_CLASS = "0x068000"
"""PCI class of an NVSwitch at the other end of a link."""

_MEGABIT = 1e6 / 8
_MOST_MEGABITS = 10**8


@dataclass
class _Gathered:
    """What was read so far; `busids` are those of the PCI devices that are open."""

    file: str
    opened: list[str] = field(default_factory=list)
    busids: list[str] = field(default_factory=list)
    gpus: list[str] = field(default_factory=list)
    capabilities: set[int] = field(default_factory=set)
    links: list[tuple[int, str, int, bool, int]] = field(default_factory=list)
    nics: list[float] = field(default_factory=list)


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
        raise InputError(Mistake("no GPU was found", file=found.file, key="system"))
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
    return GpuNode(len(found.gpus), peers, switched[0], found.capabilities.pop(), tuple(found.nics))
