"""What a pipe gets: the bytes of the file, and silence where nobody reads it to its end."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import COMMAND, run, run_json
from designs import design_file
from patience import run_to_end

from evo_libra.exchange.registry import writers

OF_ORDERS = {"netbox-device-types", "netbox-inventory-items", "netbox-power-ports", "netbox-racks"}
TEXTS = sorted(writers().keys() - {"bill-excel", *OF_ORDERS})


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of results with a front that every format can be written of."""
    folder = tmp_path_factory.mktemp("store")
    run(folder, "search", design_file("mixtral-8x7b-256"), "--evaluations", "1000", "--engine", "random")
    return folder


def piped(folder: Path, line: str) -> tuple[bytes, bytes, int]:
    """Return what a command line of a shell writes to its output and its errors, and its exit code."""
    done = run_to_end(["bash", "-c", line.replace("evo-libra", COMMAND)], cwd=folder, text=False)
    return done.stdout, done.stderr, done.returncode


@pytest.mark.slow
@pytest.mark.parametrize("name", TEXTS)
def test_a_format_in_a_pipe_is_its_file(store: Path, name: str) -> None:
    pipe_is_file(store, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", [
    pytest.param(name, marks=[] if n == 0 else [pytest.mark.slow]) for n, name in enumerate(sorted(OF_ORDERS))
])  # fmt: skip
def test_a_format_of_orders_in_a_pipe_is_its_file(tmp_path: Path, name: str) -> None:
    run(tmp_path, "search", "llama3-70b-serving")
    pipe_is_file(tmp_path, name)


def pipe_is_file(store: Path, name: str) -> None:
    words = ("export", "last#knee", "--to", name)
    run(store, *words, "-o", "written")
    written = (store / "written").read_bytes()
    assert written
    assert run(store, *words).stdout.encode() == written
    assert run_json(store, *words)["content"].encode() == written


@pytest.mark.slow
def test_a_format_goes_through_a_real_pipe(store: Path) -> None:
    run(store, "export", "last#knee", "--to", "bill-csv", "-o", "written")
    found, _, code = piped(store, "evo-libra export last#knee --to bill-csv | cat")
    assert (found, code) == ((store / "written").read_bytes(), 0)
    assert found.endswith(b"\r\n")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "markdown"])
def test_a_table_in_a_pipe_is_its_file(store: Path, kind: str) -> None:
    run(store, "front", "last", f"--{kind}", "written")
    assert run(store, "front", "last", f"--{kind}", "-").stdout.encode() == (store / "written").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("line", [
    "evo-libra catalog", "evo-libra front last --csv -", "evo-libra --help",
    *(pytest.param(line, marks=pytest.mark.slow) for line in (
        "evo-libra catalog --json", "evo-libra front last --json", "evo-libra export last#knee --to netbox-cables",
        "evo-libra search gpt3-4k --no-plot --out elsewhere",
    )),
])  # fmt: skip
def test_a_reader_that_leaves_is_no_error(store: Path, line: str) -> None:
    for reader in ("head -1", "true"):
        shown, said, code = piped(store, f"{line} | {reader}")
        assert (len(shown.splitlines()), code) == (int(reader != "true"), 0)
        assert [one for one in said.decode().splitlines() if not one.startswith("left out: ")] == []
