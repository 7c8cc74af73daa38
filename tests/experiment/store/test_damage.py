"""Files of runs that are not what was written: named in one sentence, never believed, and nothing else is lost."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sqlite3
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import damage_stores
import polars as pl
import pytest
from command import call
from damage_stores import DAMAGES, Store, as_somebody, damage_cache, damage_store, no_longer_than

from evo_libra.errors import InputError
from evo_libra.experiment.execution.job import Job
from evo_libra.experiment.execution.plan import plan_of
from evo_libra.experiment.execution.search_loop import genes_from
from evo_libra.experiment.execution.worker import perform
from evo_libra.experiment.results import index
from evo_libra.experiment.results.catalogue import Catalogue
from evo_libra.experiment.run.spec import Experiment, RunSpec
from evo_libra.experiment.store.claim import acquire, current_claim, release
from evo_libra.experiment.store.folder import DONE, FRONT, MANIFEST, RunFolder, damaged_files
from evo_libra.files.checked_json import checker
from evo_libra.files.integrity import (
    DamagedError,
    parse_json,
    parse_line,
    read_archive,
    read_bytes,
    seal_archive,
    seal_json,
    seal_line,
)
from evo_libra.front.front import Front
from evo_libra.problem.file.registry import load_problem
from evo_libra.problem.problem import Problem

Make = Callable[..., RunSpec]
KINDS = (
    "manifest.json", "done.json", "front.parquet", "designs-*.parquet", "manifest.json of an interrupted run",
    "front.parquet of an interrupted run", "checkpoint.npz", "attempt.json", "events.jsonl",
    "claim-0001.json", "failed.json", "plan.json", "runner.json", "a request",
)  # fmt: skip
SHARE = len(DAMAGES) + 3


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)  # those who look at it as somebody else have to get there
        yield Store(Path(place))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVO_LIBRA_CACHE", str(tmp_path / "cache"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_is_named_and_no_wrong_figure_is_shown(store: Store, kind: str) -> None:
    assert tuple(store.files()) == KINDS
    found = damage_store(store, kind, SHARE)
    assert found["pipe"] == found["folder"] == found["forbid"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["manifest.json", "done.json", "front.parquet", "designs-*.parquet"])
def test_a_damaged_run_is_done_again(store: Store, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(damage_stores, "AGAIN", 7)  # a flipped bit, and a folder in its place
    damage_store(store, kind, 8, seed=1)


@pytest.mark.slow
def test_a_damaged_evaluation_is_done_again(tmp_path: Path) -> None:
    assert damage_cache(tmp_path, 60)["missing"]


def test_each_flipped_bit_of_a_sealed_object_is_seen() -> None:
    data = {"evaluations": 12, "note": 'a "sha256": "0" in it', "front": [1.5, None]}
    for seal, parse in ((seal_json, lambda raw: parse_json("x", raw)), (lambda one: seal_line(one).encode(), _line)):
        raw = seal(data)
        assert parse(raw) == data
        for place in range(8 * len(raw)):
            changed = bytearray(raw)
            changed[place // 8] ^= 1 << place % 8
            with pytest.raises(DamagedError):
                parse(bytes(changed))


def _line(raw: bytes) -> dict[str, object]:
    found = parse_line(raw)
    if found is None:
        raise DamagedError("a line")
    return found


def test_what_was_changed_by_hand_or_is_of_an_earlier_version_is_refused_and_told_so(make: Make, job: Job) -> None:
    spec = make()
    perform(spec, job)
    folder = RunFolder(Path(job.results) / spec.id)
    done = (folder.path / DONE).read_text()
    (folder.path / DONE).write_text(done.replace('"evaluations": 1000', '"evaluations": 2000'))
    with pytest.raises(DamagedError, match=r"done.json is damaged or was changed by hand: its checksum is wrong"):
        folder.read_json(DONE)
    (folder.path / DONE).write_text(re.sub(r',\n  "sha256": "\w+"', "", done))
    with pytest.raises(DamagedError, match=r"has no checksum: .* or was made by an earlier version"):
        folder.read_json(DONE)
    folder.write_json(DONE, {"evaluations": "many"})
    with pytest.raises(DamagedError, match=r"evaluations: found 'many', a whole number is needed; another version"):
        folder.read_json(DONE)
    assert not folder.done


def test_records_are_checked_by_their_types() -> None:
    @dataclass(frozen=True)
    class Point:
        place: int
        value: float | None
        names: list[str]

    check = checker(dict[str, list[int]])
    assert (check({"a": [1]}), check({"a": [1, True]})) == ("", ".a[1]: found True, a whole number is needed")
    assert checker(float)(1e400) == ": found inf, a finite number is needed"
    assert checker(Point)({"place": 1, "value": None, "names": ["x"]}) == ""
    assert checker(Point)({"place": 1, "value": None}) == ": 'names' is missing"


def test_a_pipe_does_not_block_and_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with no_longer_than(10):
        for path in (tmp_path / "pipe", tmp_path):
            with pytest.raises(DamagedError, match="not a regular file"):
                read_bytes(path)
        with pytest.raises(DamagedError):
            Front.read(tmp_path / "pipe")
    assert read_bytes(tmp_path / "nothing") is None


def test_a_front_that_was_copied_elsewhere_is_refused_when_it_is_damaged(make: Make, job: Job, tmp_path: Path) -> None:
    spec = make()
    perform(spec, job)
    problem = load_problem("gpt3-4k")
    assert isinstance(problem, Problem)
    raw = (Path(job.results) / spec.id / FRONT).read_bytes()
    copy = tmp_path / "copy.parquet"
    copy.write_bytes(raw)
    assert genes_from(problem, [copy]).shape[1]
    for place in range(0, len(raw), max(len(raw) // 40, 1)):
        copy.write_bytes(raw[:place] + bytes([raw[place] ^ 4]) + raw[place + 1 :])
        with pytest.raises(InputError, match="checksum"):
            genes_from(problem, [copy])


@pytest.mark.slow
def test_what_cannot_be_read_is_told_and_the_rest_is_listed(
    store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVO_LIBRA_CACHE", str(store.place / "nowhere"))
    # Somebody else may not read the modules that are imported late.
    call("results", "--out", store.results, "--sort", "id")
    call("show", store.folder(store.done).path, "--out", store.results)
    plan_of(store.experiment, store.results)
    capsys.readouterr()
    colleague, odd = store.results / "colleague", os.fsencode(store.results) + b"/gpt3-4k/\xff"
    (colleague / "run").mkdir(parents=True)
    os.mkdir(odd)  # noqa: PTH102 - its name is bytes
    run = store.folder(store.done).path
    try:
        for path in (colleague, run):
            path.chmod(0o700)
            with as_somebody():
                assert call("results", "--out", store.results, "--sort", "id") == 0
            out, err = capsys.readouterr()
            assert all(spec.id.partition("/")[2] in out for spec in (store.done, store.other, store.begun))
            assert "its name is not UTF-8" in err
            assert f"{path.relative_to(store.results)}" in err
            assert "permission denied" in err
        with as_somebody():
            states = {one.spec.id: one.state for one in plan_of(store.experiment, store.results)}
            assert call("show", run, "--out", store.results) == 1
        assert (states[store.done.id], states[store.other.id]) == ("damaged", "done")
        assert "evo-libra run does the run again" in capsys.readouterr().out
    finally:
        run.chmod(0o755)
        (colleague / "run").rmdir()
        colleague.rmdir()
        os.rmdir(odd)  # noqa: PTH106 - its name is bytes


@pytest.mark.slow
def test_comparisons_leave_damaged_runs_out_and_refuse_them_by_name(
    make: Make, job: Job, capsys: pytest.CaptureFixture[str]
) -> None:
    specs, results = [make(seed=seed) for seed in range(3)], Path(job.results)
    for spec in specs:
        perform(spec, job)
    front = results / specs[0].id / FRONT
    front.write_bytes(front.read_bytes()[:-1])
    assert call("compare", "status:done", "--out", results, "--json") == 0
    out, err = capsys.readouterr()
    assert (specs[0].id in out, err.count("is left out")) == (False, 1)
    for ask in (
        lambda: call("compare", *(spec.id for spec in specs), "--out", results),
        lambda: call("front", results / specs[0].id),
    ):
        with pytest.raises(DamagedError, match=r"front.parquet is damaged or was changed by hand"):
            ask()
    assert call("show", specs[0].id, "--out", results) == 1
    assert "its checksum is wrong" in capsys.readouterr().out


def test_a_finished_run_with_a_damaged_front_is_listed_as_damaged(make: Make, job: Job, tmp_path: Path) -> None:
    specs = [make(seed=seed) for seed in range(2)]
    for spec in specs:
        perform(spec, job)

    def listed() -> dict[str, str]:
        with contextlib.closing(Catalogue.open(job.results, tmp_path / "cache")) as catalogue:
            assert all("front.parquet" in note for note in catalogue.notes())
            assert len(catalogue.runs("engine:smsemoa problem:gpt3-4k")) == 2
            return {run.id: run.status for run in catalogue.runs()}

    front, other = Path(job.results) / specs[0].id / FRONT, Path(job.results) / specs[1].id / FRONT
    raw, sound = front.read_bytes(), {spec.id: "done" for spec in specs}
    for _ in range(2):  # with a new index, and with one that knows the sound run
        for changed in (bytes([raw[0] ^ 1]) + raw[1:], other.read_bytes(), raw[:-1], b""):
            front.write_bytes(changed)
            assert listed() == {**sound, specs[0].id: "damaged"}
        front.unlink()
        assert listed() == {**sound, specs[0].id: "damaged"}
        front.write_bytes(raw)
        assert listed() == sound


def test_a_damaged_run_of_another_version_is_damaged(make: Make, job: Job, capsys: pytest.CaptureFixture[str]) -> None:
    spec = make()
    perform(spec, job)
    folder = RunFolder(Path(job.results) / spec.id)
    manifest = {key: value for key, value in folder.read_json(MANIFEST).items() if key != "sha256"}
    folder.write_json(MANIFEST, {**manifest, "program": "another"})
    assert call("show", spec.id, "--out", job.results) == 0
    assert "stale" in capsys.readouterr().out
    front = bytearray((folder.path / FRONT).read_bytes())
    front[len(front) // 2] ^= 1
    (folder.path / FRONT).write_bytes(front)
    assert call("show", spec.id, "--out", job.results) == 1
    shown = capsys.readouterr().out
    assert "damaged: front.parquet" in shown
    assert "stale" not in shown


def test_a_folder_named_like_a_claim_holds_nothing(make: Make, job: Job) -> None:
    spec = make()
    folder = Path(job.results) / spec.id
    for name in ("claim-0001.json", "claim-0007.json"):
        (folder / name).mkdir(parents=True)
    os.mkfifo(folder / "claim-0003.json")
    with no_longer_than(60):
        assert current_claim(folder) is None
        claim = acquire(folder, "a")
        assert claim is not None
        assert claim.number == 8
        release(claim)
        assert perform(spec, job).ending == "done"
        assert damaged_files(RunFolder(folder)) == {}


def test_a_finished_run_without_a_manifest_is_damaged(make: Make, job: Job) -> None:
    spec = make()
    perform(spec, job)
    with contextlib.closing(Catalogue.open(job.results)) as catalogue:
        (Path(job.results) / spec.id / MANIFEST).unlink()
        catalogue.refresh()
        (run,) = catalogue.runs()
        assert (run.status, run.evaluations, run.error.endswith("has a done.json and no manifest.json")) == (
            "damaged", 0, True,
        )  # fmt: skip
        assert catalogue.notes() == (f"{run.id}: {run.error}",)
    planned = plan_of(Experiment("mine", Path("mine.yaml"), (spec,), 1.0), Path(job.results))
    assert planned[0].state == "damaged"
    assert perform(spec, job).fresh


def test_an_index_is_made_again_when_the_fields_of_a_run_change(
    make: Make, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    perform(make(), job)
    before = index.version()
    with contextlib.closing(Catalogue.open(job.results)) as catalogue:
        known = catalogue.runs()
    monkeypatch.setattr(index, "COLUMNS", (*index.COLUMNS, replace(index.COLUMNS[-1], name="more")))
    assert index.version() != before
    monkeypatch.undo()
    with contextlib.closing(Catalogue.open(job.results)) as catalogue:
        assert catalogue.runs() == known


def test_a_damaged_row_of_an_index_is_read_from_the_files(
    make: Make, job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVO_LIBRA_CACHE", str(tmp_path / "cache"))
    perform(make(), job)
    with contextlib.closing(Catalogue.open(job.results)) as catalogue:
        known = catalogue.runs()
    (path,) = (tmp_path / "cache").glob("*.sqlite")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as file:
        changed = file.execute("UPDATE runs SET run = replace(run, '1000', '2000')")
        assert changed.rowcount == 1
    with contextlib.closing(Catalogue.open(job.results)) as catalogue:
        assert catalogue.runs() == known


def sealed_archive(path: Path, **parts: bytes) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {"head.npy": array_file(b"{}"), **parts}.items():
            archive.writestr(name.replace("_npy", ".npy"), content)
    path.write_bytes(seal_archive(buffer.getvalue()))


def array_file(content: bytes, shape: str | None = None) -> bytes:
    """Return an array of bytes that says that it has another shape."""
    head = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape or f'({len(content)},)'}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + content


@pytest.mark.parametrize("part", [array_file(bytes(10_000_000)), array_file(b"a", "(1000000000000,)")])
def test_a_checkpoint_whose_sizes_lie_is_refused(part: bytes, tmp_path: Path) -> None:
    sealed_archive(tmp_path / "checkpoint.npz", a_npy=part)
    with pytest.raises(DamagedError, match="is no checkpoint; search again without --resume"):
        read_archive(tmp_path / "checkpoint.npz")


def test_a_table_whose_reader_panics_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def panic(_: object) -> None:
        raise pl.exceptions.PanicException("range end index 70368744177920 out of range")

    path = tmp_path / "front.parquet"
    Front(pl.DataFrame({"id": [0], "time_ms": [1.0]}), ("time_ms",)).write(path)
    monkeypatch.setattr(pl, "read_parquet", panic)
    with pytest.raises(DamagedError, match="is no Parquet file"):
        Front.read(path)
