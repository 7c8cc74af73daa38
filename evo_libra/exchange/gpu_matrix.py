"""The matrix that ``nvidia-smi topo -m`` prints: how each pair of GPUs and interfaces is connected."""

from __future__ import annotations

import re

from evo_libra.errors import InputError, Mistake
from evo_libra.exchange.gpu_node import MOST_GPUS, MOST_LINKS, GpuNode

_ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_GPU = re.compile(r"GPU[0-9]{1,4}")
_NIC = re.compile(r"NIC[0-9]{1,4}|mlx[0-9]+_[A-Za-z0-9_]+|bnxt_re[0-9]+|rdmap[0-9a-z]+|hfi[0-9_]+")
_PATH = re.compile(r"X|SYS|NODE|PHB|PXB|PIX|NV[0-9]{1,2}")
_MOST_DIRECT = 18
"""Links of a GPU; where those to all peers add up to more, each is over switches and is counted for every peer."""


def read_gpu_matrix(text: str, file: str) -> GpuNode:
    """Return the server of a matrix; it says neither the generation of NVLink nor what interfaces send.

    Raises `InputError` with the line and the two ends of what cannot be read.
    """
    lines = [_ESCAPE.sub("", line) for line in text.splitlines()]
    head = next((at for at, line in enumerate(lines) if line.split()[:1] == ["GPU0"] and "X" not in line.split()), None)
    if head is None:
        raise InputError(Mistake("no header with GPU0 was found; the output of `nvidia-smi topo -m` is read", file))
    names = _names(lines[head])
    if len(set(names)) < len(names):
        raise InputError(Mistake("a name comes twice in the header", file, head + 1))
    gpus = [name for name in names if _GPU.fullmatch(name)]
    if len(gpus) > MOST_GPUS:
        raise InputError(Mistake(f"more than {MOST_GPUS} GPUs are not read", file, head + 1))
    rows = _rows(lines, head, names, file)
    missing = [name for name in gpus if name not in rows]
    if missing:
        raise InputError(Mistake(f"the row of {missing[0]} is missing", file, head + 1, key=missing[0]))
    return _node(gpus, names, rows, file)


def _names(line: str) -> list[str]:
    """Return the columns that have a row; those of affinities come after them."""
    found: list[str] = []
    for word in line.split():
        if not (_GPU.fullmatch(word) or _NIC.fullmatch(word)):
            break
        found.append(word)
    return found


def _rows(lines: list[str], head: int, names: list[str], file: str) -> dict[str, tuple[int, list[str]]]:
    rows: dict[str, tuple[int, list[str]]] = {}
    for at, line in enumerate(lines[head + 1 :], head + 2):
        words = line.split()
        if not words or words[0] not in names:
            if words and words[0].startswith("Legend"):
                break
            continue
        name, cells = words[0], words[1 : len(names) + 1]
        if name in rows:
            raise InputError(Mistake("this row comes twice", file, at, key=name))
        if len(cells) < len(names):
            raise InputError(Mistake(f"found {len(cells)} cells; {len(names)} are needed", file, at, key=name))
        for other, cell in zip(names, cells, strict=True):
            if not _PATH.fullmatch(cell) or (cell == "X") != (name == other):
                message = f"found {cell!r:.40}; allowed: X of itself, SYS, NODE, PHB, PXB, PIX and NV with a number"
                raise InputError(Mistake(message, file, at, key=f"{name}.{other}"))
        rows[name] = (at, cells)
    return rows


def _node(gpus: list[str], names: list[str], rows: dict[str, tuple[int, list[str]]], file: str) -> GpuNode:
    peers: dict[tuple[int, int], int] = {}
    for first, name in enumerate(gpus):
        line, cells = rows[name]
        for second, other in enumerate(gpus):
            cell = cells[names.index(other)]
            if not cell.startswith("NV"):
                continue
            if rows[other][1][names.index(name)] != cell or not 0 < int(cell[2:]) <= MOST_LINKS:
                message = f"found {cell}; the other direction has to say the same, from NV1 to NV{MOST_LINKS}"
                raise InputError(Mistake(message, file, line, key=f"{name}.{other}"))
            peers[first, second] = int(cell[2:])
    nics = tuple(None for name in names if name not in gpus)
    each, alike = len(gpus) - 1, set(peers.values())
    complete = len(peers) == len(gpus) * each and len(alike) == 1
    if complete and max(alike) * each > _MOST_DIRECT:
        return GpuNode(len(gpus), {}, alike.pop(), None, nics)
    return GpuNode(len(gpus), peers, 0, None, nics)
