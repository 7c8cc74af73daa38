"""Every reader of every format on files of one repeated token: time in proportion to the size, and little memory.

    python tests/end_to_end/linear_readers.py [--readers yaml,...] [--seconds 1800] [--seed 0] [--each 20]

A file is a beginning, a token as often as the size asks, and an end. Each is read in a process of its own, whose CPU
time and memory are measured. A reader fails where twice the size takes more than 2.5 times as long (from 0.2 s on, by
the least of three measures of both sizes), where a file of 10 MB takes more than 5 s of CPU or 1 GB, and where it
raises anything but an `EvoLibraError`.

The last figures are at the end of this file.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import evo_libra.experiment.execution.plan  # noqa: F401 - before the processes that read
from evo_libra.chakra.groups import read_groups
from evo_libra.chakra.read import read_trace
from evo_libra.errors import EvoLibraError
from evo_libra.exchange.kernel_tables import read_kernel_table
from evo_libra.exchange.registry import read_text_as, readers
from evo_libra.experiment.file.expansion import load_experiment
from evo_libra.experiment.results.listing import parse_filter
from evo_libra.experiment.store.folder import MANIFEST, RunFolder
from evo_libra.experiment.store.messages import EVENTS, read_events, read_progress
from evo_libra.files.integrity import read_archive
from evo_libra.files.source import Source, read_source, read_text, set_value
from evo_libra.files.yaml_reader import MAX_BYTES
from evo_libra.front.front import Front
from evo_libra.network.catalog.parts import load_any
from evo_libra.network.fabric import parse_fabric
from evo_libra.network.fabrics.named import parse_named
from evo_libra.network.orders.catalog import load_products
from evo_libra.network.orders.notation import read_order
from evo_libra.plugins.repurpose.model_files import arrays_of_onnx, arrays_of_safetensors
from evo_libra.plugins.repurpose.weights_file import read_perceptron
from evo_libra.problem.constraint_parser import unit_in
from evo_libra.problem.file.registry import load_problem
from evo_libra.timing.input_files.network_file import parse_memory, parse_network
from evo_libra.timing.input_files.system_file import parse_system
from evo_libra.workload.layers.text_file import read_astra_sim_text
from evo_libra.workload.models.hugging_face import read_configuration
from evo_libra.workload.serving.lengths import read_lengths

FACTOR, FROM_SECONDS, NO_SECONDS, MOST_SECONDS, MOST_BYTES = 2.5, 0.2, 0.04, 5.0, 1e9
SIZES = [50_000, 100_000, 200_000, 400_000, 800_000]
LARGEST, PROBED, WORD, REPEATS = 10_000_000, 1_000_000, 131_000, 3
WORDS = {"set", "set key", "fabric", "size", "filter"}
"""Readers of words of the command line alone, which Linux ends at 131,072 bytes."""
FORK = multiprocessing.get_context("fork")


def text_of(path: Path) -> str:
    return read_text(path, LARGEST)


def imported(name: str | None) -> Callable[[Path], object]:
    return lambda path: read_text_as(read_text(path, MAX_BYTES), str(path), name)


def in_problem(key: str) -> Callable[[Path], object]:
    """Return what reads a problem file with the text as the value of a key, as a program would write it."""
    import json  # noqa: PLC0415 - near its use

    def read(path: Path) -> object:
        own = path.with_suffix(".own.yaml")
        values = json.loads(json.dumps(PROBLEM))
        at, names = values, key.split(".")
        for name in names[:-1]:
            at = at[int(name)] if isinstance(at, list) else at[name]
        at[int(names[-1]) if isinstance(at, list) else names[-1]] = text_of(path)
        own.write_text(json.dumps(values))
        return load_problem(str(own))

    return read


PROBLEM: dict[str, Any] = {
    "version": 1, "name": "x", "npus": 4096, "constraints": [""], "objectives": ["time", "cost"],
    "fabric": {"catalog": "libra-cosearch", "max_dimensions": 4, "one_dimension_per_technology": True},
    "workloads": [{"model": "gpt-3-libra", "parallelism": {"tp": 16}, "compute_TFLOPS": 234}],
    "time": {"shares": "libra"}, "bandwidth": {"mode": "search", "min_GBps": 1, "max_GBps": 700},
}  # fmt: skip


def in_run(name: str, read: Callable[[Path], object]) -> Callable[[Path], object]:
    """Return what reads a file of a run, under its own name."""

    def moved(path: Path) -> object:
        folder = path.with_suffix(".run")
        folder.mkdir(exist_ok=True)
        path.rename(folder / name)
        return read(folder)

    return moved


def with_suffix(suffix: str, read: Callable[[Path], object]) -> Callable[[Path], object]:
    """Return what reads a file under a name that ends so."""
    return lambda path: read(path.rename(path.with_name(f"{path.name}{suffix}")))


READERS: dict[str, Callable[[Path], object]] = {
    "yaml": read_source,
    "problem": lambda path: load_problem(f"{path}"),
    "experiment": load_experiment,
    "import": imported(None),
    **{f"import {name}": imported(name) for name in readers()},
    "kernel table": lambda path: read_kernel_table(text_of(path), str(path)),
    "astra-sim text": read_astra_sim_text,
    "network": lambda path: parse_network(read_source(path)),
    "memory": lambda path: parse_memory(read_source(path)),
    "system": lambda path: parse_system(
        read_source(path),
        parse_network(Source("n", {"topology": ["Ring"], "npus_count": [4], "bandwidth": [1.0], "latency": [1.0]}, {})),
    ),
    "catalogue": lambda path: load_any(str(path)),
    "products": lambda path: load_products(str(path)),
    "model": read_configuration,
    "lengths": read_lengths,
    "trace": read_trace,
    "groups": read_groups,
    "safetensors": with_suffix(".safetensors", arrays_of_safetensors),
    "onnx": with_suffix(".onnx", arrays_of_onnx),
    "weights": with_suffix(".npz", read_perceptron),
    "set": lambda path: set_value(Source("x", {}, {}), f"a={text_of(path)}"),
    "set key": lambda path: set_value(Source("x", {}, {}), f"{text_of(path)}=1"),
    "design": lambda path: parse_fabric(text_of(path)),
    "fabric": lambda path: parse_named(text_of(path)),
    "order": lambda path: read_order(text_of(path), load_products("cluster-2026")),
    "constraint": in_problem("constraints.0"),
    "shape": in_problem("fabric.shape"),
    "name": in_problem("name"),
    "objective": in_problem("objectives.0"),
    "size": lambda path: unit_in(text_of(path), "memory"),
    "filter": lambda path: parse_filter(text_of(path)),
    "manifest": in_run(MANIFEST, lambda folder: RunFolder(folder).read_json(MANIFEST)),
    "events": in_run(EVENTS, lambda folder: (read_events(folder), read_progress(folder))),
    "checkpoint": read_archive,
    "front": Front.read,
}  # fmt: skip

TOKENS = [
    "0,", "$(", "${a", "${a:-", "$a", "'", '"', "' ", "\\", "\\\n", "#", " #", "--a ", "--a=", "a=", "a=$a ", "a ", "a",
    "(", ")(", "[", "{", "[]", "{}", "&a ", "*a ", "- ", "-\n", "? ", ": ", "a: ", "a:\n", "!t ", "|\n", "\t", "\n",
    "\r\n", "0", "9.", "1e", ".", "-", "_", "@", "x ", "RI(4)@", "RI(4)_", "[0]*1+", "\x1b[", "\x1b[0m", "<<: ", "%",
    "é", "NaN,", "1,2\n", "GPU0 ", "NIC0", "mlx5_0", "<a>", "<", "<a ", "a.", "a[0].", "0 / ", "4 x a ", "bw[0] >= ",
    "1+", "1 ", "\x00", "\xff", "\x0a\x02", "\x80", '{"a":', "a,b,", "//", "/*", "0x", "~", "true ", "null,", "u\\",
    "\\u00",
]  # fmt: skip
AROUND = [
    ("", ""), ("[", "]"), ("[", ""), ('{"a": "', '"}'), ("a: ", ""), ("a: [", "]"), ("--a ", ""), ("a=1\n--b 2 ", "\n"),
    ("a\n", "\n--c 3"),
]  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A kind of file, and its reader."""

    reader: str
    token: str
    begin: str
    end: str

    def write(self, path: Path, size: int) -> None:
        body = self.token * max((size - len(self.begin) - len(self.end)) // len(self.token), 1)
        path.write_bytes(f"{self.begin}{body}{self.end}".encode("latin-1", "replace")[:size])

    def __str__(self) -> str:
        return f"{self.reader} of {self.begin!r} {self.token!r}... {self.end!r}"


@dataclass(frozen=True)
class Measure:
    """CPU time [s] and memory [bytes] of a reader, and what else it has raised than an `EvoLibraError`."""

    seconds: float
    memory: int
    raised: str = ""


def measured(case: Case, size: int, folder: Path, limit: float = 10.0) -> Measure:
    """Measure a reader in a process of its own, which ends after some seconds of CPU."""
    path = folder / "file"
    case.write(path, size)
    ours, theirs = FORK.Pipe(duplex=False)
    process = FORK.Process(target=_read, args=(case, path, theirs, limit))
    process.start()
    theirs.close()
    try:
        found = Measure(*ours.recv())
    except EOFError:
        process.join()
        found = Measure(limit, 0, f"ended with code {process.exitcode}")
    process.join()
    for left in sorted(folder.rglob("*"), reverse=True):
        left.rmdir() if left.is_dir() else left.unlink()
    return found


def _read(case: Case, path: Path, pipe: Any, limit: float) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (int(limit) + 1, int(limit) + 2))
    gc.freeze()  # what imports have left is the same for all sizes, and to look through it again is a step in the time
    before, began, raised = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time(), ""
    try:
        READERS[case.reader](path)
    except EvoLibraError as error:
        str(error)
    except BaseException as error:  # noqa: BLE001 - what is measured
        raised = f"{type(error).__name__}: {error}"[:200]
    seconds = time.process_time() - began
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    pipe.send((seconds, grown * 1024, raised))


def largest_of(reader: str) -> int:
    """Return the largest size that a reader meets: that of a file, or of a word of a command line."""
    return WORD if reader in WORDS else LARGEST


def faults(case: Case, folder: Path) -> Iterator[str]:
    """Yield what is wrong with a reader: first of 1 MB, then, unless that takes no time, of all sizes."""
    largest = largest_of(case.reader)
    whole = measured(case, min(PROBED, largest), folder)
    if whole.raised:
        yield f"{case}: {min(PROBED, largest):,} bytes: {whole.raised}"
    if whole.seconds < NO_SECONDS:
        return
    whole = measured(case, largest, folder)
    if whole.seconds > MOST_SECONDS or whole.memory > MOST_BYTES:
        yield f"{case}: {largest:,} bytes take {whole.seconds:.1f} s and {whole.memory / 1e6:.0f} MB"
    found = [(size, measured(case, size, folder).seconds) for size in SIZES if size <= largest]
    for (half, before), (size, after) in pairwise(found):
        if grows(before, after):
            least = [min(measured(case, one, folder).seconds for _ in range(REPEATS)) for one in (half, size)]
            if grows(*least):
                yield f"{case}: {size:,} bytes take {least[1]:.2f} s, half of them {least[0]:.2f} s"


def grows(before: float, after: float) -> bool:
    """Return whether twice the size takes more than in proportion.

    One sample on a busy machine proves nothing: who asks measures both sizes again, and takes the least of each.

    >>> grows(0.07, 0.22), grows(0.31, 0.61), grows(0.05, 0.19)
    (True, False, False)
    """
    return after > max(FACTOR * before, FROM_SECONDS)


def drawn(names: Sequence[str], seed: int, each: int | None) -> list[Case]:
    """Return all kinds of files in a random order; or some of each reader, whose tokens all differ, in rounds."""
    rng = random.Random(seed)  # noqa: S311 - no secret
    if each is None:
        cases = [Case(one, token, *around) for one, token, around in product(names, TOKENS, AROUND)]
        rng.shuffle(cases)
        return cases
    tokens = {name: rng.sample(TOKENS, each) for name in names}
    return [Case(name, tokens[name][turn], *rng.choice(AROUND)) for turn in range(each) for name in names]


def main() -> None:
    """Measure cases in a random order until the time is up, and print what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--readers", default=",".join(READERS))
    parser.add_argument("--seconds", type=float, default=1800.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--each", type=int, help="kinds of each reader, with as many tokens; all when left out")
    given = parser.parse_args()
    cases = drawn(given.readers.split(","), given.seed, given.each)
    began, wrong, count = time.monotonic(), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            if time.monotonic() - began > given.seconds:
                break
            count += 1
            for fault in faults(case, Path(folder)):
                wrong += 1
                print(fault, flush=True)
    seconds = time.monotonic() - began
    print(f"{count:,} of {len(cases):,} kinds of files in {seconds:.0f} s, seed {given.seed}: {wrong} faults")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()

# Last figures, on 2 cores that others used, too (load 8 to 17): seeds 0 to 3, 468 kinds of files in 2,450 s; no faults
# with seeds 2 and 3 (25 and 14 kinds in 400 s each, at the lowest priority). Found and mended before: a table of
# lengths with a long cell raised an error of `csv` and took 1.05 GB, lines of events were hashed that have no checksum
# (10 s for 10 MB), a workload of ASTRA-sim took 1.1 GB, a filter was quadratic (10 s for 100 kB of `a=$a `). Before the
# patterns were mended, `import` took 11 s for 49 kB of `[0,1,2,...]` and 30 s for 80 kB of `$($(`. All 31,734 kinds
# take days. Text to import has 2 MB at most, and is refused beyond that.
# With --each 20 and seed 5, 20 tokens of each of 43 readers: 860 kinds in 1,303 s beside other work. Three were faults:
# in texts of lines and in filters, the collector of garbage made one doubling take 2.6 to 3.2 times as long, because it
# looked again through all that imports had left. Lines of a workload make no lists since, and what imports have left
# is no reader's. A constraint of 1.4 MB had taken 18 s, unseen, as its text had been put where a list is read.
