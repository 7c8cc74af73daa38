"""From the workloads of a problem file to compiled training loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evo_libra.arrays import TERA, FloatArray
from evo_libra.errors import InputError, unknown
from evo_libra.files.mistakes import KeyPath
from evo_libra.files.source import file_digest, files_digest
from evo_libra.problem.file.accelerators import AcceleratorLoader
from evo_libra.problem.file.mistakes import Gather, Model, ProblemFile, layer_mistakes
from evo_libra.problem.file.spec import WorkloadSpec
from evo_libra.problem.file.time import time_spec
from evo_libra.problem.file.uncertainty_spec import WeightSpec
from evo_libra.problem.time_models.loops import (
    WeightedLoop,
    weighted_loop,
    weighted_plans,
    weighted_step,
    weighted_traces,
)
from evo_libra.workload.layers.generators import (
    MODELS_FILE,
    DlrmSpec,
    MoeSpec,
    TableSpec,
    TransformerSpec,
    dlrm,
    load_models,
    moe,
    transformer,
)
from evo_libra.workload.layers.iteration_time import Merging
from evo_libra.workload.layers.text_file import read_astra_sim_text
from evo_libra.workload.layers.workload import IterationSize, Workload, WorkloadKind, scale_compute
from evo_libra.workload.parallelism import ALL, complete_degrees, parts_of

if TYPE_CHECKING:
    from evo_libra.problem.file.serving import ServingLoader
    from evo_libra.problem.file.serving_spec import ServingSpec
    from evo_libra.problem.file.training import TrainingLoader
    from evo_libra.problem.file.training_spec import Generator
    from evo_libra.timing.trace_time import TracedWorkload

    Part = tuple[WorkloadKind, Callable[..., WeightedLoop]]
    """A workload, and what compiles it from its weight and the merging of its traffic."""

_WHOLE = "this is a model as a whole: the key 'training' or 'serving' is needed"


def _trace_files(prefix: Path) -> tuple[Path, ...]:
    from evo_libra.chakra.read import trace_files  # noqa: PLC0415 - few problems have traces

    return trace_files(prefix)


class WorkloadLoader:
    """Reads the workloads of a problem file."""

    def __init__(self, file: ProblemFile) -> None:
        self.source, self.folder, self.spec, self.fail = file.source, file.folder, file.spec, file.fail
        self.file, self.accelerators = file, AcceleratorLoader(file)

    @cached_property
    def training(self) -> TrainingLoader:
        """The loader of training steps."""
        from evo_libra.problem.file.training import TrainingLoader  # noqa: PLC0415 - tables of layers do not need it

        return TrainingLoader(self.file, self.accelerators)

    @cached_property
    def serving(self) -> ServingLoader:
        """The loader of serving."""
        from evo_libra.problem.file.serving import ServingLoader  # noqa: PLC0415 - tables of layers do not need it

        return ServingLoader(self.file, self.training)

    def loops(self, merging: Merging, check: Callable[[WeightedLoop], None] = lambda _: None) -> list[WeightedLoop]:
        """Return the compiled workloads of the file; see `Loops`."""
        time = time_spec(self.spec)
        if time.overlap != "none" and all(
            spec.training is not None or spec.serving is not None for spec in self.spec.workloads
        ):
            message = "this overlap is that of tables of layers; training steps have `training.overlap`"
            raise self.fail(("time", "overlap"), message)
        parts = self._workloads()
        weights = self._weights([workload for workload, _ in parts], normalised=time.weights == "normalised")
        places = count()
        loops = [
            compiled(weight=weight, merging=merging) if workload.table is None
            else weighted_plans(workload.table, weight, next(places), merging=merging)
            for (workload, compiled), weight in zip(parts, weights, strict=True)
        ]  # fmt: skip
        for index, loop in enumerate(loops):
            try:
                check(loop)
            except InputError as error:
                raise self.fail(("workloads", index), str(error)) from None
        return loops

    def _weights(self, workloads: Sequence[WorkloadKind], *, normalised: bool) -> list[float]:
        """Return the weights of workloads; normalised ones make up for their compute times."""
        weights = [one.value if isinstance(one, WeightSpec) else one for one in (w.weight for w in self.spec.workloads)]
        if not normalised:
            return weights
        for index, workload in enumerate(workloads):
            if not workload.compute:
                raise self.fail(("workloads", index), "normalised weights need a compute time above 0")
        compute = np.array([workload.compute for workload in workloads])
        found: list[float] = normalised_weights(np.array(weights)[:, None], compute)[:, 0].tolist()
        return found

    def files(self) -> dict[str, str]:
        """Return the SHA-256 of the files that workloads are read from, by their names in the problem file."""
        return {name: files_digest(paths) for name, paths in self._files()}

    def models(self) -> dict[str, Any]:
        """Return the figures of the catalogue for each of its models that a workload names."""
        known = load_models()
        found = {}
        layers = [spec for spec in self.spec.workloads if spec.training is None and spec.serving is None]
        named = (spec.model for spec in layers if spec.model is not None)
        for name in dict.fromkeys(named):
            figures = known[name].model_dump(mode="json", exclude={"source"})
            table = [file_digest(path) for path in self._tables(name)]
            found[name] = figures | ({"digest": table[0]} if table else {})
        return found

    def _files(self) -> Iterator[tuple[str, tuple[Path, ...]]]:
        """Yield the names of files of workloads in the problem file, and the files."""
        for spec in self.spec.workloads:
            if spec.trace is not None:
                yield spec.trace, _trace_files(self.folder / spec.trace)
            table = spec.generator.file if isinstance(spec.generator, TableSpec) else None
            requests = None if spec.serving is None else _file_of(spec.serving)
            for name in (spec.file, spec.groups, table, requests):
                if name is not None:
                    yield name, (self.folder / name,)

    def _tables(self, model: str) -> list[Path]:
        """Return the file of a model of the catalogue that is kept as one."""
        spec = load_models()[model]
        return [MODELS_FILE.parent / spec.file] if isinstance(spec, TableSpec) else []

    def _workloads(self) -> list[Part]:
        """Return each workload with what compiles it; the mistakes of all are raised together."""
        found = Gather()
        parts = [found.attempt(partial(self.workload, index)) for index in range(len(self.spec.workloads))]
        found.check()
        return [part for part in parts if part is not None]

    def workload(self, index: int) -> Part:
        """Return a workload with what compiles it, which tables of plans do not need.

        An error has every mistake of it that does not depend on another one.
        """
        path, spec, found = ("workloads", index), self.spec.workloads[index], Gather()
        if spec.serving is not None or spec.training is not None:
            model = self._whole(path, spec)
            return model, partial(weighted_step, model)
        if spec.trace is not None and not (spec.model or spec.file or spec.generator or spec.dense or spec.moe):
            traces = self._traces(path, spec)
            return traces, partial(weighted_traces, traces, npus=self.spec.npus)
        degrees = {str(name): degree for name, degree in dict(spec.parallelism).items() if isinstance(degree, int)}
        complete = found.attempt(lambda: self._complete(path, degrees))
        model = found.attempt(lambda: self._model(path, spec))
        found.mistakes += [
            self.source.mistake((*path, *key), message) for key, message in layer_mistakes(spec, model, degrees)
        ]
        workload = None
        if isinstance(model, TableSpec):
            workload = found.attempt(lambda: self._table(path, spec, model))
        elif model is not None and complete is not None and not found.mistakes:
            workload = self._generated(spec, model, complete)
        for group in (
            () if workload is None else dict.fromkeys(part for one in workload.groups for part in parts_of(one))
        ):
            if group not in (ALL, "dp", *degrees):
                needed = f"the workload runs collectives on {group}; its degree is required"
                found.mistakes.append(self.source.mistake((*path, "parallelism"), needed))
        found.check()
        assert workload is not None  # noqa: S101 - else there were mistakes
        assert complete is not None  # noqa: S101 - likewise
        workload = replace(workload, tensor_inside=spec.tp_domain == "scale-up")
        overlap = time_spec(self.spec).overlap
        return workload, partial(weighted_loop, workload, complete, overlap=overlap, npus=self.spec.npus)

    def _whole(self, path: KeyPath, spec: WorkloadSpec) -> Any:  # noqa: ANN401 - a step, or a table of plans
        """Return a model as a whole that is trained or served."""
        if spec.serving is not None:
            return self.serving.table(path, spec, spec.serving)
        assert spec.training is not None, "the caller has checked"  # noqa: S101 - internal error
        return self.training.step(path, spec, spec.training)

    def _complete(self, path: KeyPath, degrees: dict[str, int]) -> dict[str, int]:
        try:
            return complete_degrees(degrees, self.spec.npus)
        except InputError as error:
            raise self.fail((*path, "parallelism"), str(error)) from None

    def _traces(self, path: KeyPath, spec: WorkloadSpec) -> TracedWorkload:
        from evo_libra.problem.file.traces import TraceLoader  # noqa: PLC0415 - few problems have traces

        return TraceLoader(self.file).workload(path, spec)

    def _model(self, path: KeyPath, spec: WorkloadSpec) -> Model:
        """Return the model of a workload without a trace."""
        if spec.dense is not None or spec.moe is not None:
            raise self.fail(path, _WHOLE)
        given = [key for key in ("model", "file", "trace", "generator") if getattr(spec, key) is not None]
        if len(given) != 1:
            found = " and ".join(given) or "none of them"
            raise self.fail(path, f"one of model, file, trace and generator is needed, found {found}")
        if spec.file is not None:
            return TableSpec(kind="table", file=spec.file)
        if spec.generator is not None:
            return self._own(path, spec.generator)
        models, name = load_models(), str(spec.model)
        # The models as a whole are read last, as they are in long files; none has the name of a table of layers.
        if name not in models and _is_whole(name):
            table = f"{name}-libra"
            raise self.fail(path, f"{_WHOLE}{f'; its table of layers is {table}' if table in models else ''}")
        if name not in models:
            raise self.fail((*path, "model"), unknown("model", name, models))
        return models[name]

    def _own(self, path: KeyPath, generator: Generator) -> Model:
        from evo_libra.problem.file.training_spec import (  # noqa: PLC0415 - few problems have models of their own
            DecoderGeneratorSpec,
            RecommenderGeneratorSpec,
        )

        if isinstance(generator, DecoderGeneratorSpec | RecommenderGeneratorSpec):
            raise self.fail(path, _WHOLE)
        return generator

    def _generated(
        self, spec: WorkloadSpec, model: TransformerSpec | MoeSpec | DlrmSpec, degrees: dict[str, int]
    ) -> Workload:
        assert spec.compute_TFLOPS is not None  # noqa: S101 - else there were mistakes
        name, rate = spec.name or spec.model or model.kind, spec.compute_TFLOPS * TERA
        fields = model.model_dump(exclude={"kind", "source"})
        if isinstance(model, DlrmSpec):
            found = dlrm(name, rate=rate, **fields)
            return replace(found, size=IterationSize(len(found.layers), None, model.batch, self.spec.npus))
        size = IterationSize(model.layers, model.sequence, model.batch, self.spec.npus // degrees["tp"])
        if isinstance(model, TransformerSpec):
            return replace(transformer(name, tensor_parallel=degrees["tp"], rate=rate, **fields), size=size)
        ep = degrees.get("ep", 1)
        return replace(moe(name, model, tensor_parallel=degrees["tp"], expert_parallel=ep, rate=rate), size=size)

    def _table(self, path: KeyPath, spec: WorkloadSpec, model: TableSpec) -> Workload:
        place = (*path, "file") if spec.file else (*path, "generator", "file")
        file = MODELS_FILE.parent / model.file if spec.model else self.file.readable(place, model.file)
        name = spec.name if spec.file else spec.name or spec.model or model.kind
        found = scale_compute(read_astra_sim_text(file, name), spec.compute_scale or 1.0)
        return replace(found, size=IterationSize(len(found.layers)))


def normalised_weights(weight: FloatArray, compute: FloatArray) -> FloatArray:
    """Return (w, s) weights that make up for the (w,) compute times of their workloads, in each of s scenarios."""
    mean = (weight * compute[:, None]).sum(axis=0) / weight.sum(axis=0)
    return np.asarray(weight * mean / compute[:, None])


def _is_whole(model: str) -> bool:
    """Return whether a model is known as a whole, for training and serving."""
    from evo_libra.problem.file.training import trained_models  # noqa: PLC0415 - tables of layers do not need it

    return model in trained_models()


def _file_of(serving: ServingSpec) -> str | None:
    """Return the file of the requests that are served, if they are those of a file."""
    from evo_libra.workload.serving.lengths import NAMED  # noqa: PLC0415 - tables of layers do not need it

    return None if serving.requests in NAMED else serving.requests
