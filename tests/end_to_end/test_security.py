"""Who can make this program run code: nobody on the network, no other user, no file where it is started."""

from __future__ import annotations

import asyncio
import contextlib
import re
import signal
import socket
import ssl
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from command import COMMAND, call, process_json, run, run_json, run_process
from distributed.comm import connect
from patience import ended, wait_for

from evo_libra.errors import InputError
from evo_libra.experiment.execution.private_cluster import new_credentials, security_of

SLOW = '''
"""A problem that takes its time."""
import time
from problems.two_tier import TwoTier


class Slow(TwoTier):
    name = "slow"

    def evaluate_genes(self, genes):
        time.sleep(0.1)
        return super().evaluate_genes(genes)


problem = Slow()
'''
BATCH = "problem: slow:problem\nengines: random\npopulation: 50\nevaluations: 10000\ncheckpoint_s: 0.2\nseeds: [1, 2]\n"
ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVO_LIBRA_CACHE", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "slow.py").write_text(SLOW)
    (tmp_path / "problems").symlink_to(ROOT / "problems")
    (tmp_path / "batch.yaml").write_text(BATCH)
    return tmp_path


@contextlib.contextmanager
def at_work(folder: Path, *words: str) -> Iterator[psutil.Process]:
    """Give a batch whose runs are at work."""
    with (folder / "errors.txt").open("ab") as errors:
        process = subprocess.Popen([COMMAND, "run", "batch.yaml", *words], cwd=folder, stderr=errors)
    try:
        wait_for(lambda: len(list(folder.glob("results/*/*/checkpoint.npz"))) == 2)
        yield psutil.Process(process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        ended(process)


def listening(program: psutil.Process) -> list[tuple[str, int]]:
    processes = [program, *program.children(recursive=True)]
    return [
        tuple(one.laddr)
        for process in processes
        for one in process.net_connections("all")
        if one.status == psutil.CONN_LISTEN or (one.type == socket.SOCK_DGRAM and one.laddr)
    ]


@pytest.mark.slow
def test_no_foreigner_gets_into_a_batch_that_runs(work: Path) -> None:
    with at_work(work, "--workers", "2") as program:
        found = listening(program)
        assert len(found) == 3, "the scheduler and two workers"
        assert {host for host, _ in found} == {"127.0.0.1"}
        texts = [" ".join(one.cmdline()) + str(one.environ()) for one in (program, *program.children(recursive=True))]
        assert not [text for text in texts if "PRIVATE KEY" in text]
        for _, port in found:
            with pytest.raises(OSError, match=r"."):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/info/main/workers.html", timeout=5)
            assert asyncio.run(greeted(f"tcp://127.0.0.1:{port}", {})) is False
            # Another one of this program, with certificates of its own.
            foreign = security_of(new_credentials()).get_connection_args("client")
            assert asyncio.run(greeted(f"tls://127.0.0.1:{port}", foreign)) is False
            assert without_certificate(port) == b""


async def greeted(address: str, arguments: dict[str, Any]) -> bool:
    """Return whether a server lets a client of Dask's protocol in."""
    try:
        connection = await connect(address, timeout=2, **arguments)
    except OSError:
        return False
    await connection.close()
    return True


def without_certificate(port: int) -> bytes:
    """Return what a server says to a client that takes any certificate and has none itself."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", port), 5) as plain, context.wrap_socket(plain) as connection:
        try:
            return connection.recv(1)
        except ssl.SSLError as error:
            assert "CERTIFICATE_REQUIRED" in str(error)
            return b""


TRAPS = ("random", "multiprocessing", "signal", "threading", "runpy", "distributed", "dask", "numpy", "deap", "moocore")


@pytest.fixture
def trapped(tmp_path: Path) -> Path:
    """Return a folder with files that have the names of modules and leave a trace when they are run."""
    for name in TRAPS:
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'sprung')!r}, 'a').write({name!r} + chr(10))\n")
    return tmp_path


def sprung(folder: Path) -> list[str]:
    trace = folder / "sprung"
    return trace.read_text().splitlines() if trace.exists() else []


def test_no_file_of_the_current_folder_stands_in_for_a_module(trapped: Path) -> None:
    (trapped / "slow.py").write_text(SLOW.replace("time.sleep(0.1)", ""))
    (trapped / "problems").symlink_to(ROOT / "problems")
    batch = "evaluations: 100\npopulation: 50\nruns:\n  a: {problem: gpt3-4k, engines: 'deap:nsga2'}\n"
    (trapped / "batch.yaml").write_text(f"{batch}  b: {{problem: 'slow:problem'}}\n")
    started = process_json(trapped, "run", "batch.yaml", "--workers", "1", "--detach")
    run_process(trapped, "search", "slow:problem", "--evaluations", "60", "--population", "20", "--workers", "1")
    wait_for(lambda: "2 done" in (trapped / started["log"]).read_text())
    assert sprung(trapped) == []


MINE = """
from pathlib import Path
from problems.two_tier import problem
from evo_libra.searching.engines.nsga import nsga2
(Path(__file__).parent / "sprung").touch()


def make(problem):
    return nsga2()
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """Return a folder with a result whose problem and engine are code that leaves a trace when it is run."""
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "mine.yaml").write_text("problem: mine:problem\nengines: mine:make\nevaluations: 100\n")
    (tmp_path / "engine.yaml").write_text("problem: gpt3-4k\nengines: [nsga2, mine:make]\nevaluations: 100\n")
    run(tmp_path, "run", "mine.yaml", "--workers", "0")
    (tmp_path / "sprung").unlink()
    return tmp_path


def test_code_that_a_result_or_a_plan_names_is_run_only_when_the_user_says_so(
    mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (result,) = mine.glob("results/two-tier/*")
    monkeypatch.chdir(mine)
    looking: list[Callable[[], object]] = [
        lambda: call("certify", result),
        lambda: call("prices", result),
        lambda: call("rescore", result, "--time", "astra"),
        lambda: call("export", result, 0, "--astra-sim", "out"),
        lambda: call("reproduce", result),
        lambda: call("plan", "mine.yaml"),
        lambda: call("plan", "engine.yaml"),
    ]
    for look in looking:
        with pytest.raises(InputError, match=r"names code, mine:.*; where you trust it, --trust-code runs it$"):
            look()
    with pytest.raises(InputError, match=re.escape("engine.yaml:2:18: engines[1]: it names code, mine:make")):
        looking[-1]()
    assert call("show", result) == 0
    assert not (mine / "sprung").exists()
    assert run_json(mine, "reproduce", result, "--trust-code")["identical"] is True
    assert (mine / "sprung").exists()
    assert "is written in Python" in run(mine, "certify", result, "--trust-code", code=2).stderr
