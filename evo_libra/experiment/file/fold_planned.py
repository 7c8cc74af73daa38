"""A run from what a user says of it: what is left out is chosen, what cannot be is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from evo_libra.errors import EngineError
from evo_libra.experiment.execution.search_loop import check
from evo_libra.experiment.run.settings import Origin, RunSpec, build, run_of, source_of
from evo_libra.experiment.run.trust import code_of, refuse_code
from evo_libra.experiment.execution.warm_start import digest_of, genes_from


def planned_run(origin: Origin, folder: Path | None = None, *, run_code: bool = True, **settings: Any) -> RunSpec:  # noqa: ANN401 - see `run_of`
    """Return a run of a problem, checked.

    Parameters
    ----------
    origin : of the problem.
    folder : what ``start_from`` is relative to; the current folder when left out.
    run_code : run the code of a problem or an engine that is named as ``module:object``.
    settings : as for `run_of`, and ``start_from``: where an earlier front is, or several are.

    Raises
    ------
    InputError : as for `run_of` and `check`, or there is code that is not to be run.
    """
    start = _start_files(settings.pop("start_from", None))
    if origin.data is None and not run_code:
        refuse_code(code_of(origin.name), "it")
    spec = run_of(origin, **settings)
    if not run_code:
        refuse_code(code_of("", spec.engine), "it", EngineError)
    problem, method = build(origin), spec.method
    if start:
        paths = [(folder or Path()) / one for one in start]
        genes = genes_from(problem, paths)
        stable = tuple(str(path.resolve()) for path in paths)
        method = replace(method, start_from=stable, start_digest=digest_of(genes))
    spec = replace(spec, method=method)
    try:
        check(spec, problem)
    except EngineError as error:
        if origin.data is None or settings.get("engine") is not None:
            raise
        source = source_of(origin)
        raise EngineError(source.mistake(_ENGINE, mistake.message) for mistake in error.mistakes) from None
    return spec


_ENGINE = ("search", "engine")


def _start_files(value: str | Path | Sequence[str | Path] | None) -> Sequence[str | Path]:
    if value is None:
        return ()
    return (value,) if isinstance(value, (str, Path)) else value
