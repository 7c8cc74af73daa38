"""How a run searches: part of what it is, and the same bytes whatever interrupts it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from evo_libra.errors import InputError
from evo_libra.experiment.execution.job import Job, Report
from evo_libra.experiment.execution.search_loop import planned_run
from evo_libra.experiment.execution.worker import perform
from evo_libra.experiment.file.expansion import load_experiment
from evo_libra.experiment.results.catalogue import Catalogue
from evo_libra.experiment.results.reproduction import reproduce
from evo_libra.experiment.run.origin import build, origin_of
from evo_libra.experiment.run.settings import read_settings, settings_json
from evo_libra.experiment.run.spec import RunSpec, planned_json, spec_of
from evo_libra.experiment.store import search_state as designs_module
from evo_libra.experiment.store.folder import DONE, FRONT, MANIFEST, RunFolder
from evo_libra.experiment.store.messages import read_events
from evo_libra.experiment.store.records import read_run
from evo_libra.experiment.store.search_state import Record, designs_files, keep_first, kept_designs, kept_genes
from evo_libra.searching.engine import EVALUATIONS, EXHAUSTED, GAP, SECONDS, STAGNATION
from evo_libra.ui.terminal.view_model import status_line

WAYS: dict[str, dict[str, Any]] = {
    "stagnation": {"stagnation": 1500, "growth": 0.3},
    "gap": {"gap": 0.9, "gap_every": 1500},
    "restarts": {"stagnation": 800, "growth": 0.3, "restarts": 2},
    "memetic": {"memetic": 0.25},
    "islands": {"islands": 3, "population": 20},
    "improved islands": {"islands": 2, "memetic": 0.25, "population": 20},
    "kept": {"keep": "designs", "islands": 2, "memetic": 0.1, "population": 20},
}


def planned(**settings: Any) -> RunSpec:
    own = {"evaluations": 4000, "population": 100, "memetic": 0.0}
    return planned_run(origin_of("gpt3-4k", []), **{**own, **settings})


def folder_of(spec: RunSpec, job: Job) -> RunFolder:
    return RunFolder(Path(job.results) / spec.id)


def files_of(spec: RunSpec, job: Job) -> dict[str, bytes]:
    folder = folder_of(spec, job).path
    return {path.name: path.read_bytes() for path in (folder / FRONT, *designs_files(folder))}


def elsewhere(job: Job, tmp_path: Path) -> Job:
    (tmp_path / "elsewhere").mkdir()
    return replace(job, results=str(tmp_path / "elsewhere"))


def begun(spec: RunSpec, job: Job, evaluations: int) -> Report:
    """Interrupt a run after every third generation, until it has so many evaluations."""
    report = Report(spec.id, "interrupt")
    while report.ending == "interrupt" and report.figures.evaluations < evaluations:
        seen: list[Any] = []
        report = perform(
            spec, job, interrupted=lambda seen=seen: len(seen) >= 3, watch=lambda *now, seen=seen: seen.append(now)
        )  # type: ignore[misc]
    return report


@pytest.fixture(scope="module", autouse=True)
def small_parts() -> Iterator[None]:
    """Let files of designs hold 700 of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(designs_module, "PART", 700)
        yield


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Job]:
    """Return what executes the run of a way without interruptions, once."""
    results = tmp_path_factory.mktemp("straight")
    job = Job(str(results), "batch")

    def executed(way: str) -> Job:
        spec = planned(**WAYS[way])
        if not folder_of(spec, job).done:
            perform(spec, job)
        return job

    return executed


@pytest.mark.slow
@pytest.mark.parametrize("way", [
    # Designs that are kept are of islands that are improved, too.
    pytest.param(way, marks=[pytest.mark.slow] if way in ("islands", "improved islands", "gap", "kept") else [])
    for way in WAYS
])  # fmt: skip
def test_an_interrupted_run_goes_on_to_the_same_bytes(job: Job, way: str, straight: Callable[[str], Job]) -> None:
    spec = planned(**WAYS[way])
    begun(spec, job, 2000)
    perform(spec, job)
    assert files_of(spec, job) == files_of(spec, straight(way))
    attempts = [event["kind"] for event in read_events(folder_of(spec, job).path)]
    assert "resumed" in attempts
    done = [folder_of(spec, where).read_json(DONE) for where in (job, straight(way))]
    assert [(one["ended"], one["evaluations"], one["restarts"]) for one in done[:1]] == [
        (one["ended"], one["evaluations"], one["restarts"]) for one in done[1:]
    ]
    _, found = reproduce(folder_of(spec, job))
    assert found.identical


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_a_longer_run_is_what_it_would_have_been_from_the_start(
    job: Job, way: str, straight: Callable[[str], Job]
) -> None:
    short, long = (planned(**WAYS[way], evaluations=count) for count in (1290, 4000))
    perform(short, job)
    perform(long, job)
    assert files_of(long, job) == files_of(long, straight(way))
    assert (folder_of(long, job).read_json(DONE)["ended"], read_events(folder_of(long, job).path)[0]["kind"]) in {
        (EVALUATIONS, "extended"), (STAGNATION, "extended"), (GAP, "extended"), (EVALUATIONS, "started"),
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("way", "ended"), [("stagnation", STAGNATION), ("gap", GAP), ("memetic", EVALUATIONS)])
def test_what_ended_a_run_is_told_and_ends_a_longer_one_there_too(job: Job, way: str, ended: str) -> None:
    short, long = planned(**WAYS[way]), planned(**WAYS[way], evaluations=6000)
    reports = [perform(spec, job) for spec in (short, long)]
    assert [folder_of(spec, job).read_json(DONE)["ended"] for spec in (short, long)] == [ended, ended]
    assert folder_of(short, job).read_json(MANIFEST)["ended"] == ended
    if ended != EVALUATIONS:
        assert reports[0].figures.evaluations == reports[1].figures.evaluations < 4000
        assert files_of(short, job) == files_of(long, job)


@pytest.mark.slow
def test_seconds_end_a_run_and_more_of_them_extend_it(job: Job) -> None:
    short = planned(seconds=0.001, evaluations=10**9)
    long = planned(seconds=0.3, evaluations=10**9)
    first, second = perform(short, job), perform(long, job)
    assert second.figures.evaluations > first.figures.evaluations >= 100
    assert [folder_of(spec, job).read_json(DONE)["ended"] for spec in (short, long)] == [SECONDS, SECONDS]
    assert read_events(folder_of(long, job).path)[0]["kind"] == "extended"
    assert short.search == long.search
    assert short.id != long.id
    _, found = reproduce(folder_of(long, job))
    assert found.identical
    # The other way round there is nothing to go on from: the longer one has been at it for too long.
    middle, shorter = (planned(seconds=seconds, evaluations=10**9, seed=1) for seconds in (0.3, 0.1))
    perform(middle, job)
    perform(shorter, job)
    assert read_events(folder_of(shorter, job).path)[0]["kind"] == "started"


def test_an_exhausted_space_ends_a_run(job: Job) -> None:
    spec = planned_run(origin_of("gpt3-4k", []), engine="exhaustive", population=10, evaluations=10**9)
    perform(spec, job)
    assert folder_of(spec, job).read_json(DONE)["ended"] == EXHAUSTED


def test_the_method_is_a_part_of_what_a_run_is(job: Job) -> None:
    specs = [planned(), *(planned(**way) for way in WAYS.values())]
    assert len({spec.search for spec in specs}) == len(specs)
    assert len({spec.hash for spec in specs}) == len(specs)
    for spec in specs:
        read = RunSpec.of(json.loads(json.dumps(spec.data())))
        assert (replace(read).hash, settings_json(read), read.id) == (spec.hash, settings_json(spec), spec.id)
    perform(specs[1], job)
    kept = spec_of(folder_of(specs[1], job).read_json(MANIFEST))
    assert (kept.hash, read_settings(settings_json(kept))) == (specs[1].hash, read_settings(settings_json(specs[1])))
    # What decides nothing is not: processes, and where a front lies.
    assert replace(specs[0], workers=3).hash == specs[0].hash
    started = [replace(specs[0], start_from=(place,), start_digest="d") for place in ("/here", "/there")]
    assert started[0].hash == started[1].hash != specs[0].hash


def test_what_pays_is_done_unless_it_is_told_otherwise() -> None:
    origin = origin_of("gpt3-4k", [])
    assert planned_run(origin).memetic == 0.05
    assert planned_run(origin, engine="random").memetic == 0.0
    assert planned_run(origin, memetic=0.0).memetic == 0.0
    assert planned_run(origin_of("gpt3-4k", ["bandwidth=optimal"])).memetic == 0.0


@pytest.mark.slow
def test_a_run_starts_from_an_earlier_front(job: Job, tmp_path: Path) -> None:
    earlier = planned(evaluations=2000)
    perform(earlier, job)
    source = folder_of(earlier, job)
    warm = planned(start_from=str(source.path), evaluations=1500, seed=5, keep="designs")
    perform(warm, job)
    front = pl.read_parquet(source.path / FRONT)
    first = kept_designs(folder_of(warm, job).path).head(front.height).collect()
    np.testing.assert_allclose(np.sort(first["time_ms"]), np.sort(front["time_ms"]), rtol=1e-9)
    straight = elsewhere(job, tmp_path)
    begun(warm, straight, 700)
    perform(warm, straight)
    assert files_of(warm, job) == files_of(warm, straight)
    # The same designs are the same run wherever they lie; other designs are refused.
    (tmp_path / "copy.parquet").write_bytes((source.path / FRONT).read_bytes())
    assert planned(start_from=str(tmp_path / "copy.parquet")).hash == planned(start_from=str(source.path)).hash
    longer = planned(evaluations=2500)
    perform(longer, job)
    (source.path / FRONT).write_bytes((folder_of(longer, job).path / FRONT).read_bytes())
    report = perform(replace(warm, seed=6), job)
    assert report.ending == "failed"
    assert "have changed since this was planned" in report.error


@pytest.mark.slow
def test_a_run_starts_from_several_fronts_and_from_each_design_once(job: Job, tmp_path: Path) -> None:
    earlier = [planned(evaluations=count, seed=count) for count in (500, 600)]
    for spec in earlier:
        perform(spec, job)
    places = [folder_of(spec, job).path for spec in earlier]
    both = planned(start_from=places, evaluations=300, keep="designs")
    assert settings_json(RunSpec.of(json.loads(json.dumps(both.data())))) == settings_json(both)
    assert planned(start_from=[*places, places[0]], evaluations=300, keep="designs").hash == both.hash
    assert both.hash not in {planned(start_from=place, evaluations=300, keep="designs").hash for place in places}
    perform(both, job)
    fronts = pl.concat(pl.read_parquet(place / FRONT)["time_ms"] for place in places)
    first = kept_designs(folder_of(both, job).path).head(len(fronts)).collect()["time_ms"]
    np.testing.assert_allclose(np.sort(first), np.sort(fronts), rtol=1e-9)
    (tmp_path / "mine.yaml").write_text(
        f"problem: gpt3-4k\nevaluations: 300\nmemetic: 0\npopulation: 100\nkeep: designs\n"
        f"start_from: {json.dumps([str(place) for place in places])}\n"
    )
    assert [run.hash for run in load_experiment(tmp_path / "mine.yaml").runs] == [both.hash]


@pytest.mark.parametrize(("settings", "message"), [
    ({"restarts": 1}, "restarts: they need a stagnation"),
    ({"engine": "exhaustive", "islands": 2}, "exhaustive leaves nothing to chance"),
    ({"asynchronous": True}, "needs --workers"),
    ({"timeout": 3.0}, "belongs to --workers"),
    ({"workers": 2, "islands": 2}, "in their own processes"),
    ({"memetic": 0.7}, "--memetic: found 0.7; it must be a number from 0 to 0.5"),
    ({"islands": 0}, "--islands: found 0; it must be at least 1"),
    ({"islands": 4097}, "--islands: found 4097; it must be at most 4096"),
    ({"seed": 2**63}, "--seed: found 9223372036854775808; it must be at most 9223372036854775807"),
    ({"seconds": 0.0}, "--seconds: found 0"),
    ({"stagnation": 0}, "--stagnation: found 0"),
    ({"start_from": "nowhere"}, "there is no .*nowhere"),
])  # fmt: skip
def test_what_cannot_be_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        planned(**settings)


def test_a_problem_without_proof_or_exact_bandwidths_is_refused() -> None:
    origin = origin_of("gpt3-4k", ["time={model: astra, latency_ns: 500}"])
    with pytest.raises(InputError, match="no gap can be proven"):
        planned_run(origin, gap=0.1)
    with pytest.raises(InputError, match="has no exact bandwidths"):
        planned_run(origin, memetic=0.1)
    assert planned_run(origin).memetic == 0.0


def test_experiment_files_say_how_runs_search(tmp_path: Path, job: Job) -> None:
    earlier = planned(evaluations=500)
    perform(earlier, job)
    start = (Path(job.results) / earlier.id).relative_to(tmp_path)
    (tmp_path / "mine.yaml").write_text(f"""
problem: gpt3-4k
evaluations: 500
population: 50
seconds: 20
runs:
  islands: {{engines: [nsga2, {{engine: nsga3, islands: 4, memetic: 0.1}}], islands: 2, memetic: 0}}
  warm: {{start_from: {start}, stagnation: 300, growth: 0.5, restarts: 1}}
  slow: {{workers: 2, timeout: 5, asynchronous: true, engines: random}}
""")
    runs = load_experiment(tmp_path / "mine.yaml").runs
    assert [(run.islands, run.memetic) for run in runs] == [(2, 0), (4, 0.1), (1, 0.05), (1, 0)]
    assert {run.seconds for run in runs} == {20}
    assert (runs[2].growth, runs[2].restarts, runs[2].start_from) == (
        0.5, 1, (str((tmp_path / start).resolve()),),
    )  # fmt: skip
    assert (runs[3].workers, runs[3].timeout, runs[3].asynchronous) == (2, 5, True)
    (tmp_path / "bad.yaml").write_text("problem: gpt3-4k\nrestarts: 2\n")
    with pytest.raises(InputError, match=r"bad.yaml:1.*restarts: they need a stagnation"):
        load_experiment(tmp_path / "bad.yaml")


@pytest.mark.slow
def test_kept_designs_are_cut_where_a_checkpoint_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(designs_module, "PART", 70)
    problem = build(planned().origin)
    random = np.random.default_rng(0)
    genes = problem.genome.sample(random, 500)
    whole, cut, copied = (RunFolder(tmp_path / name) for name in ("whole", "cut", "copied"))

    def record(folder: RunFolder, start: int, end: int, step: int) -> None:
        keep = Record(folder, problem, start)
        for place in range(start, end, step):
            part = genes[:, place : min(place + step, end)]
            keep(part, problem.evaluate_genes(part))
        keep.flush()

    record(whole, 0, 500, 33)
    assert [path.name[-12:-8] for path in designs_files(whole.path)] == [
        "0000",
        "0070",
        "0140",
        "0210",
        "0280",
        "0350",
        "0420",
        "0490",
    ]
    np.testing.assert_array_equal(kept_genes(kept_designs(whole.path).collect()), genes)
    record(cut, 0, 260, 100)
    for count in (251, 210, 209):
        assert keep_first(copied, count, cut)
        assert keep_first(cut, count)
        assert kept_designs(cut.path).select(pl.len()).collect().item() == count
        assert [path.read_bytes() for path in designs_files(cut.path)] == [
            path.read_bytes() for path in designs_files(copied.path)[: len(designs_files(cut.path))]
        ]
    assert not keep_first(cut, 210)
    record(cut, 209, 500, 17)
    assert [path.read_bytes() for path in designs_files(cut.path)] == [
        path.read_bytes() for path in designs_files(whole.path)
    ]
    designs_files(cut.path)[1].unlink()
    assert not keep_first(cut, 300)


@pytest.mark.parametrize(("settings", "told"), [
    ({"stagnation": 300, "growth": 0.5, "restarts": 1}, ("stagnation", 1, 1)),
    ({"islands": 2, "population": 20, "evaluations": 500}, ("evaluations", 0, 2)),
])  # fmt: skip
def test_a_run_tells_what_ended_it(job: Job, settings: dict[str, Any], told: tuple[str, int, int]) -> None:
    spec = planned(**settings)
    queued = read_run(
        Path(job.results),
        spec.id,
        planned_json(spec),
    )
    assert queued is not None
    assert (queued.ended, queued.restarts, queued.islands) == ("", 0, told[2])
    perform(spec, job)
    run = read_run(Path(job.results), spec.id)
    assert run is not None
    assert (run.ended, run.restarts, run.islands) == told
    assert status_line(run, [], "", 200).count("stagnation, 1 restart") == told[1]
    catalogue = Catalogue.open(Path(job.results))
    assert [one.id for one in catalogue.runs(f"ended:{told[0]} islands:{told[2]}")] == [spec.id]
    catalogue.close()
