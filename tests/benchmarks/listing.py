"""How long `evo-libra results` takes for many runs: with a new index, and after that."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COMMAND = str(Path(sys.executable).with_name("evo-libra"))
FILES = ("manifest.json", "done.json", "events.jsonl", "run.log", "front.parquet")
FOLDERS = 20


def main(count: int) -> None:
    """Copy one run so many times and list all of them."""
    with tempfile.TemporaryDirectory() as place:
        os.environ["EVO_LIBRA_CACHE"] = f"{place}/cache"
        words = [COMMAND, "search", "gpt3-4k", "--evaluations", "2000", "--no-plot", "--json", "--out", f"{place}/one"]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        (run,) = Path(place, "one").glob("*/*")
        kept = {name: (run / name).read_bytes() for name in FILES}
        for number in range(count):
            folder = Path(place, "many", f"gpt3-4k-{number % FOLDERS}", f"{run.name[:-1]}{number}")
            folder.mkdir(parents=True)
            for name, raw in kept.items():
                (folder / name).write_bytes(raw)
        for what in ("new index", "after", "after"):
            load, before, begun = os.getloadavg()[0], os.times(), time.perf_counter()
            subprocess.run([COMMAND, "results", "--out", f"{place}/many"], check=True, stdout=subprocess.DEVNULL)
            seconds, after = time.perf_counter() - begun, os.times()
            cpu = after.children_user + after.children_system - before.children_user - before.children_system
            print(f"{count:,} runs, {what:9}: {seconds:5.2f} s, {cpu:5.2f} s of one core, load {load:.1f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
