"""The README of exported files: how to run them, what will come out, and what differs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from evo_libra.astra_sim.loops import Communication
from evo_libra.astra_sim.times import Prediction

KNOWN_FOR = (
    "ASTRA-sim 518bd51 (March 2026) with its analytical congestion-unaware backend (astra-network-analytical 599a047) "
    "and Chakra f37c2bb"
)
BINARY = "AstraSim_Analytical_Congestion_Unaware"


@dataclass(frozen=True)
class CollectiveTime:
    """Communication of a workload that is alike: the seconds of one by the problem, and its ns by ASTRA-sim."""

    kind: Communication
    where: str
    count: int
    modelled: float
    predicted: int

    @property
    def what(self) -> str:
        """The collective, or that it is a message."""
        return "message" if self.kind[1] is None else self.kind[1].value


@dataclass(frozen=True)
class ExportedWorkload:
    """A workload as it was exported; the prefix of its traces is relative to the folder.

    Its seconds are those by the problem of the search (`searched`) and by the exported one (`modelled`). `scheduled` is
    the prediction of an ASTRA-sim that reads schedulers, None where none is asked for.
    """

    name: str
    prefix: str
    traces: int
    searched: float
    modelled: float
    prediction: Prediction
    scheduled: Prediction | None
    collectives: tuple[CollectiveTime, ...]

    @property
    def ratio(self) -> float:
        """The predicted time over the one that the search saw."""
        return self.prediction.last * 1e-9 / self.searched

    @property
    def difference(self) -> float:
        """The predicted time over the one that the search saw, less 1."""
        return self.ratio - 1.0


@dataclass(frozen=True)
class Exported:
    """A design as it was exported: the time models of search and files, and why times differ, a sentence each."""

    design: str
    npus: int
    models: tuple[str, str]
    version: str
    has_groups: bool
    workloads: tuple[ExportedWorkload, ...]
    differences: tuple[str, ...]

    def command(self, workload: ExportedWorkload) -> list[str]:
        """Return the words that run a workload, in the folder."""
        words = [
            BINARY,
            f"--workload-configuration={workload.prefix}",
            "--system-configuration=system.json",
            "--network-configuration=network.yml",
            "--remote-memory-configuration=memory.json",
        ]
        return [*words, "--comm-group-configuration=groups.json"] if self.has_groups else words

    def json(self) -> dict[str, Any]:
        """Return all of it for programs, with units in the keys."""
        return {
            "design": self.design,
            "npus": self.npus,
            "searched_model": self.models[0],
            "exported_model": self.models[1],
            "workloads": [_json(workload, self.command(workload)) for workload in self.workloads],
            "differences": list(self.differences),
        }


def _json(workload: ExportedWorkload, command: list[str]) -> dict[str, Any]:
    scheduled = {} if workload.scheduled is None else {"predicted_with_scheduler_ns": workload.scheduled.last}
    return {
        "name": workload.name,
        "prefix": workload.prefix,
        "different_traces": workload.traces,
        "searched_ms": workload.searched * 1e3,
        "modelled_ms": workload.modelled * 1e3,
        "predicted_ns": workload.prediction.last,
        "predicted_first_npu_ns": workload.prediction.first,
        **scheduled,
        "ratio": workload.ratio,
        "relative_difference": workload.difference,
        "command": command,
        "collectives": [
            {
                "group": row.kind[0], "collective": row.what, "bytes": row.kind[2], "count": row.count,
                "runs": row.where, "modelled_ns": row.modelled * 1e9, "predicted_ns": row.predicted,
            }
            for row in workload.collectives
        ],
    }  # fmt: skip


def readme_text(exported: Exported) -> str:
    """Return the README."""
    commands = _lines(" \\\n  ".join(exported.command(workload)) for workload in exported.workloads)
    differences = [f"- {sentence}" for sentence in exported.differences]
    return f"""\
# A network with its workloads, for ASTRA-sim

    {exported.design}

Dimension 0 comes first; GB/s are those of an NPU, of 10^9 bytes. Written by evo-libra {exported.version}.

Run it in this folder:

```sh
{commands}
```

It is known for {KNOWN_FOR}. Each NPU tells its time in a line `sys[0] finished, T cycles`; a cycle is 1 ns. \
Count these lines, {exported.npus} of them: the exit code is 0 even if some are missing. \
A run keeps about {exported.npus} files open, one for each NPU; where fewer are allowed (`ulimit -n`), it ends without \
a message.

## Time of an iteration

{_table(_times(exported))}

Cycles are predicted by executing these files as ASTRA-sim does, to the nanosecond.

## Collectives and messages

{_table(_collectives(exported))}

## What differs

{_lines(differences or ["Nothing: ASTRA-sim's time is the search's."])}

{_FILES}"""


def _times(exported: Exported) -> Iterator[list[str]]:
    searched, modelled = exported.models
    scheduled = any(workload.scheduled for workload in exported.workloads)
    columns = ["workload", "last NPU finishes [cycles]", "first NPU [cycles]"]
    columns += ["with the scheduler [cycles]"] if scheduled else []
    columns += [f"evo-libra, time {searched} [ms]", "ratio", "difference"]
    yield columns + ([f"evo-libra, time {modelled} [ms]"] if modelled != searched else [])
    for workload in exported.workloads:
        cells = [workload.name, str(workload.prediction.last), str(workload.prediction.first)]
        cells += [str(workload.scheduled.last) if workload.scheduled else "-"] if scheduled else []
        cells += [f"{workload.searched * 1e3:.9g}", f"{workload.ratio:.6g}", f"{workload.difference:+.4%}"]
        yield cells + ([f"{workload.modelled * 1e3:.9g}"] if modelled != searched else [])


def _collectives(exported: Exported) -> Iterator[list[str]]:
    columns = ["workload", "group", "collective", "bytes", "count", "runs"]
    yield [*columns, "ASTRA-sim [ns]", f"{exported.models[1]} [ns]"]
    for workload in exported.workloads:
        for row in workload.collectives:
            group, _, size = row.kind
            times = [str(row.predicted), f"{row.modelled * 1e9:.0f}"]
            yield [workload.name, group, row.what, str(size), str(row.count), row.where, *times]


def _table(rows: Iterable[list[str]]) -> str:
    head, *rest = rows
    return _lines(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rest))


def _lines(lines: Iterable[str]) -> str:
    return "\n".join(lines)


_FILES = """\
## Files

- `network.yml`: the dimensions. Bandwidth is GB/s of 2^30 bytes, of a link in each direction; latency is its ns.
- `system.json`: how collectives run, and 1 TFLOP/s: a thousand of `num_ops` take 1 ns.
- `memory.json`: no remote memory.
- `groups.json`: members of the process groups that are not whole dimensions; `{}` if there are none.
- `traces/`: a Chakra trace (schema 0.0.4) of each NPU and workload.
"""
