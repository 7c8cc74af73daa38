"""Sampled mutation testing: how many wrong formulas the tests of their own room catch.

``python tests/mutation/mutate.py --count 40 --seed 1 --rooms searching front`` draws mutants of these rooms and runs
the tests of the room that a mutant is in: the module's own test file and doctest first, then the room's other test
files, nearest by imports first, until one fails. A failure counts where the same test passes without the mutation. A
mutant that all of them pass survives and is printed, unless `equivalent.toml` lists it with the reason why no test
could tell it. A mutant whose tests do not end within its limit is unfinished: it counts as tried, not as caught.
Mutants that are still at work when the whole budget of seconds ends do not count.

The tests run in copies of the repository in a temporary folder; the checkout stays as it is. Neither mutmut nor
cosmic-ray does this: mutmut mutates everything before it starts and draws no sample, cosmic-ray writes mutants into
the checkout.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from queue import SimpleQueue

sys.path.insert(0, str(Path(__file__).parent))

from mutants import Mutant, mutate, sites

ROOT = Path(__file__).parents[2]
ROOMS = (
    "timing",
    "workload",
    "network",
    "bandwidth",
    "problem",
    "front",
    "optimality",
    "explain",
    "searching",
    "validation/roce",
)
TEXTS = ("problem/file/", "timing/input_files/", "network/catalog/", "conformance.py", "sample_problem.py")
"""Parts of paths of what reads files and what tests a user's own parts, which are no formulas."""
COPIED = ("evo_libra", "tests", "problems", "experiments", "docs", "pyproject.toml", "README.md", "CHANGELOG.md")
PYTEST = (
    sys.executable,
    "-m",
    "pytest",
    "-n",
    "0",
    "-x",
    "-p",
    "limits",
    "-p",
    "no:cacheprovider",
    "--doctest-modules",
    "--hypothesis-seed=0",
)
CAUGHT, SURVIVED, UNFINISHED = "caught", "survived", "unfinished"


@dataclass
class Workshop:
    """The copies of the repository to run tests in, the limits, and what is known of tests without mutations."""

    copies: SimpleQueue[Path]
    limit: float
    end: float
    sound: dict[str, bool] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, copy: Path, tests: list[str], limit: float) -> str | None:
        """Return what pytest prints about tests in a copy, or None where they take too long."""
        path = os.pathsep.join([str(copy), str(copy / "tests/mutation")])
        # The tests nearest to the mutant come first, whatever order a shell asks for.
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0", "PYTEST_ADDOPTS": ""}
        output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        with subprocess.Popen(
            [*PYTEST, *tests], cwd=copy, env=environment, text=True, start_new_session=True, **output
        ) as process:
            try:
                return process.communicate(timeout=max(min(limit, self.end - time.monotonic()), 0.0))[0]
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return None

    def is_sound(self, copy: Path, test: str) -> bool:
        """Return whether a test passes where nothing is mutated."""
        if test not in self.sound:
            printed = self.run(copy, [test], self.limit)
            self.sound[test] = printed is not None and not _failed(printed)
        return self.sound[test]

    def verdict(self, mutant: Mutant) -> tuple[str, str]:
        """Return what becomes of a mutant, and the test that caught it."""
        copy, tests = self.copies.get(), _tests_of(mutant.path)
        module = copy / "evo_libra" / mutant.path
        try:
            module.write_text(mutant.text)
            printed = self.run(copy, tests, self.limit)
        finally:
            shutil.copy2(ROOT / "evo_libra" / mutant.path, module)
        try:
            failed = "" if printed is None else _failed(printed)
            if printed is None or (failed and not self.is_sound(copy, failed)):
                return UNFINISHED, failed
            return (CAUGHT, failed) if failed else (SURVIVED, "")
        finally:
            self.copies.put(copy)


def _failed(printed: str) -> str:
    """Return the test, or the file, that failed; pytest itself where it did not start."""
    failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", printed, re.MULTILINE)
    return failed[1] if failed else "" if re.search(r"^\d+ passed|\[100%\]", printed, re.MULTILINE) else "pytest"


@cache
def _imports(path: Path) -> frozenset[str]:
    """Return the names, with dots, that a file imports anywhere."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
        elif isinstance(node, ast.Import):
            names |= {name.name for name in node.names}
    return frozenset(names)


@cache
def _modules() -> dict[str, Path]:
    """Return the files of the package by their names with dots."""
    files = (ROOT / "evo_libra").rglob("*.py")
    return {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in files}


@cache
def _distances(test: Path) -> dict[str, int]:
    """Return how many imports lead from a test file to each module that it reaches."""
    reached: dict[str, int] = {}
    files, distance = [test], 0
    while files:
        distance += 1
        found = {name for path in files for name in _imports(path) if name in _modules() and name not in reached}
        reached |= dict.fromkeys(found, distance)
        files = [_modules()[name] for name in found]
    return reached


def _tests_of(path: str) -> list[str]:
    """Return the test files of a module's room: its own, its doctest, then the nearest by imports."""
    name, far = "evo_libra." + path.removesuffix(".py").replace("/", "."), 1000
    files = sorted((ROOT / "tests" / path.partition("/")[0]).rglob("test_*.py"))
    own = f"test_{Path(path).name}"
    files.sort(key=lambda file: (file.name != own, _distances(file).get(name, far)))
    doctest = [f"evo_libra/{path}"] if ">>>" in (ROOT / "evo_libra" / path).read_text() else []
    return [*doctest, *(str(file.relative_to(ROOT)) for file in files)]


def _draw(rooms: list[str], seed: int) -> Iterator[Mutant]:
    """Yield the mutants of rooms in random order, without those that are equivalent."""
    equivalent = {(one["module"], one["function"], one["before"], one.get("after")) for one in equivalents()}
    paths = [
        path.relative_to(ROOT / "evo_libra") for room in rooms for path in (ROOT / "evo_libra" / room).rglob("*.py")
    ]
    trees = {str(path): ast.parse((ROOT / "evo_libra" / path).read_text()) for path in sorted(paths)}
    places = [
        (path, site) for path, tree in trees.items() if not any(map(path.__contains__, TEXTS)) for site in sites(tree)
    ]
    random.Random(seed).shuffle(places)  # noqa: S311 - no secret
    for path, site in places:
        mutant = mutate(path, trees[path], site)
        line = path, mutant.function, mutant.before
        if not {(*line, mutant.after), (*line, None)} & equivalent:
            yield mutant


def equivalents() -> list[dict[str, str]]:
    """Return the mutants that no test could tell from the module, each with the reason."""
    return list(tomllib.loads((Path(__file__).parent / "equivalent.toml").read_text()).get("equivalent", []))


def _copy(folder: Path) -> Path:
    """Return a folder after copying into it what tests use of the repository."""
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name)
        else:
            shutil.copy2(ROOT / name, folder / name)
    return folder


def _print(mutant: Mutant, verdict: str, test: str, seconds: float) -> None:
    place = f"evo_libra/{mutant.path}:{mutant.line} {mutant.function}"
    if verdict == CAUGHT:
        print(f"{verdict} {place} by {test} in {seconds:.0f} s", flush=True)
    else:
        why = f", as {test} fails without the mutation, too" if test else ""
        print(f"{verdict} {place}{why}\n  - {mutant.before}\n  + {mutant.after}", flush=True)


def _print_rates(counts: Counter[tuple[str, str]]) -> None:
    rooms = sorted({room for room, _ in counts})
    for room, within in [*((room, [room]) for room in rooms), ("all", rooms)]:
        caught, survived, unfinished = (
            sum(counts[one, kind] for one in within) for kind in (CAUGHT, SURVIVED, UNFINISHED)
        )
        tried = caught + survived + unfinished
        print(f"{room}: {caught} of {tried} mutants caught, {caught / max(tried, 1):.1%}; {unfinished} unfinished")


def main() -> None:
    """Try mutants and print the rate."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=40, help="mutants to try")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--rooms", nargs="+", default=[room for room in ROOMS if (ROOT / "evo_libra" / room).exists()])
    parser.add_argument("--seconds", type=float, default=86_400.0, help="budget of wall time for all mutants")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for the tests of one mutant")
    parser.add_argument("--jobs", type=int, default=2, choices=(1, 2), help="mutants side by side")
    options = parser.parse_args()
    mutants = [mutant for mutant, _ in zip(_draw(options.rooms, options.seed), range(options.count), strict=False)]
    counts: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        workshop = Workshop(SimpleQueue(), options.limit, time.monotonic() + options.seconds)
        for number in range(options.jobs):
            workshop.copies.put(_copy(Path(folder) / str(number)))

        def attempt(mutant: Mutant) -> None:
            begun = time.monotonic()
            if begun >= workshop.end:
                return
            verdict, test = workshop.verdict(mutant)
            if verdict == UNFINISHED and time.monotonic() >= workshop.end:
                return
            with workshop.lock:
                counts[mutant.path.partition("/")[0], verdict] += 1
                _print(mutant, verdict, test, time.monotonic() - begun)

        with ThreadPoolExecutor(options.jobs) as pool:
            list(pool.map(attempt, mutants))
    print(f"{counts.total()} of {len(mutants)} mutants of seed {options.seed} tried")
    _print_rates(counts)


if __name__ == "__main__":
    main()
