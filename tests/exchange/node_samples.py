"""Small files in the formats of other programs, and what can happen to them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from evo_libra.errors import InputError


def topology(gpus: int = 8) -> str:
    """Return a server of H100 over four NVSwitches, each with an interface of 400 Gb/s."""
    links = "".join(f'<nvlink target="0000:0{at}:00.0" count="{n}" tclass="0x068000"/>\n' for at, n in
                    enumerate((4, 4, 5, 5), 5))  # fmt: skip
    devices = "".join(
        f'<pci busid="0000:{at + 16:02x}:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">\n'
        f'<gpu dev="{at}" sm="90" rank="{at}" gdr="1">\n{links}</gpu></pci>\n'
        f'<pci busid="0000:{at + 64:02x}:00.0" class="0x020000"><nic>\n'
        f'<net name="mlx5_{at}" dev="{at}" speed="400000" port="1" gdr="1"/></nic></pci>\n'
        for at in range(gpus)
    )
    return f'<system version="1">\n<cpu numaid="0" arch="x86_64">\n{devices}</cpu>\n</system>\n'


def matrix(cell: str, gpus: int, *, escapes: bool = False, nics: tuple[str, ...] = ("NIC0", "NIC1")) -> str:
    """Return a matrix with the same cell between all GPUs."""
    names = [f"GPU{at}" for at in range(gpus)] + list(nics)
    shown = [f"\x1b[4m{name}" for name in names] if escapes else names
    end = "\x1b[0m" if escapes else ""
    lines = ["\t" + "\t".join([*shown, "CPU Affinity", "NUMA Affinity"]) + end]
    for row in names:
        gpu = row.startswith("GPU")
        cells = [" X " if row == name else cell if gpu and name.startswith("GPU") else "SYS" for name in names]
        lines.append("\t".join([row, *cells, *(("0-47,96-143", "0") if gpu else ())]))
    return "\n".join([*lines, "", "Legend:", "", "  X    = Self", "", "NIC Legend:", "", "  NIC0: mlx5_0", ""])


def table(latency_us: float = 20.0, bus_GBps: float = 360.0) -> str:  # noqa: N803 - the unit is part of the name
    """Return an all-reduce of 8 ranks whose times are a latency and a bandwidth."""
    lines = ["# nThread 1 nGpus 8 minBytes 1048576 maxBytes 8589934592", "#", "# Using devices"]
    lines += [f"#  Rank {at:2d} Group  0 Pid  71 on node device {at} [0x1b] NVIDIA H100" for at in range(8)]
    lines += ["#       size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw #wrong"]
    for power in range(20, 34):
        size = 2**power
        us = latency_us + size * 1.75 / (bus_GBps * 1e3)
        ours = f"{us:.2f} {size / us / 1e3:.2f} {size / us / 1e3 * 1.75:.2f} 0"
        lines.append(f"  {size} {size // 4} float sum -1 {ours} {ours}")
    return "\n".join([*lines, "# Out of bounds values : 0 OK", "# Avg bus bandwidth    : 227.1", ""])


def mutants(text: str, count: int, seed: int = 0) -> Iterator[str]:
    """Return texts in which a few places were cut, doubled, or replaced."""
    chance = random.Random(seed)  # noqa: S311 - repeatable, not secret
    junk = (
        "",
        "-1",
        "0",
        "9" * 40,
        "NaN",
        "<",
        '"',
        "\x00",
        "\x1b[4m",
        "\n",
        "é",
        "<!DOCTYPE a>",
        "NV99",
        "X",
        "\ud800",
    )
    for _ in range(count):
        found = text
        for _ in range(chance.randint(1, 4)):
            start = chance.randrange(len(found) + 1)
            end = min(len(found), start + chance.choice((0, 1, 2, 5, 40, 400)))
            found = found[:start] + chance.choice((*junk, found[start:end] * 2)) + found[end:]
        yield found


def survives(read: Callable[[str], object], text: str, count: int) -> tuple[int, int]:
    """Return how many mutants are read and how many are refused with a sentence; anything else is raised."""
    read_well = refused = 0
    for mutant in mutants(text, count):
        try:
            read(mutant)
            read_well += 1
        except InputError as error:
            assert all(mistake.message for mistake in error.mistakes)
            refused += 1
    return read_well, refused
