"""The settings of a run, each defined once.

The fields of `Settings` define the keys of an experiment file, the options of ``evo-libra search``, the JSON files of a
run and its identity. A new setting is a field here, and the code that uses it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, Literal, get_type_hints

from evo_libra.errors import InputError

Keep = Literal["front", "designs"]
Role = Literal["search", "budget", "seed", "place"]
_METHOD = "method"


@dataclass(frozen=True)
class Setting:
    """Metadata of a setting: its option, check and place in the record.

    Attributes
    ----------
    name : attribute of `Settings`, key of an experiment file and, with hyphens, option of the command line.
    kind, asked : type of the value, and the type that users give.
    default : the value of a plain search; `MISSING` where the problem has one.
    role : ``search`` and ``budget`` are part of the run's hash, ``seed`` identifies the run besides the hash, and
        ``place`` decides only where and how fast the run is executed.
    low, high, below : range of a number: both ends are included, and it stays below the last one.
    key : key of the JSON files of a run; empty for one below ``method``.
    per_engine : an experiment file may give each engine its own value.
    hidden : users do not give it; it follows from another setting.
    chosen : where users leave it out, the problem and the engine choose it, so that a value of 0 has to be named.
    of_searches : only a search has it, so that the engine `auto` searches where it is asked for.
    """

    name: str
    kind: Any
    asked: Any
    default: Any
    help: str
    role: Role = "search"
    low: float | None = None
    high: float | None = None
    below: float | None = None
    key: str = ""
    per_engine: bool = False
    hidden: bool = False
    chosen: bool = False
    of_searches: bool = False

    @property
    def option(self) -> str:
        """The option of the command line."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def required(self) -> bool:
        """Whether a run has no value of its own for it: the problem has one."""
        return self.default is MISSING

    def read(self, data: Mapping[str, Any]) -> Any:  # noqa: ANN401 - of any kind
        """Return the value in the manifest or the plan of a run; the default where an older version did not know it."""
        value = data[self.key] if self.key else data[_METHOD].get(self.name, self.default)
        return tuple(value) if isinstance(value, list) else value

    def check(self, value: Any) -> None:  # noqa: ANN401 - of any kind
        """Raise an InputError for a number out of range."""
        if value is None or isinstance(value, bool | str) or self.low is None:
            return
        if isinstance(value, int) and self.kind in (int, int | None):
            if value < self.low:
                raise InputError(f"{self.option}: found {value}; it must be at least {self.low}")
            if self.high is not None and value > self.high:
                raise InputError(f"{self.option}: found {value}; it must be at most {self.high}")
            return
        fits = self.low <= value and (self.high is None or value <= self.high)
        if not fits or (self.below is not None and value >= self.below):
            end = f"below {self.below:g}" if self.below is not None else f"{self.high:g}"
            raise InputError(f"{self.option}: found {value:g}; it must be a number from {self.low:g} to {end}")


def _setting(text: str, default: Any = MISSING, **more: Any) -> Any:  # noqa: ANN401 - what `field` takes and returns
    return field(default=default, metadata={"help": text, **more})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of a search; `SETTINGS` lists them."""

    engine: str = _setting(
        "search engine: auto (every design of whole ports where that is cheaper than the evaluations, else smsemoa for "
        "a small population and nsga2 for a large one), nsga2, nsga3, smsemoa, random, exhaustive, optimize, "
        "pymoo:NAME, deap:NAME, or your own module:object, which is code",
        key="engine",
    )
    engine_choice: str = _setting("why auto chose the engine; empty where it was named", "", hidden=True, role="place")
    evaluations: int = _setting("designs to evaluate", key="budget", role="budget", low=1, high=2**62)
    population: int = _setting(
        "designs per generation; late in a long search nsga2 has more",
        key="population",
        low=4,
        high=2**31,
        per_engine=True,
    )
    seed: int = _setting(
        "seed of the random numbers; the same seed gives the same front", key="seed", role="seed", low=0, high=2**63 - 1
    )
    workers: int | None = _setting(
        "processes for designs that take long to evaluate; each evaluates one design at a time, and no design twice",
        None, key="workers", role="place", low=1, high=4096, of_searches=True,
    )  # fmt: skip
    timeout: float | None = _setting(
        "seconds that a design may take in a worker process; a design that takes longer is infeasible",
        None, low=1e-3, high=1e9,
    )  # fmt: skip
    asynchronous: bool = _setting(
        "tell the engine of each design as soon as it is done; the order depends on chance, so the seed does not "
        "decide the front",
        default=False,
        of_searches=True,
    )
    seconds: float | None = _setting(
        "seconds of work after which the run ends, whatever its evaluations; how far it gets depends on the machine",
        None, key="seconds", role="budget", low=1e-3, high=1e9,
    )  # fmt: skip
    stagnation: int | None = _setting(
        "the run ends when its hypervolume has grown too little over this number of evaluations",
        None,
        low=1,
        high=2**62,
    )
    growth: float = _setting(
        "share by which the hypervolume has to grow over the evaluations of `stagnation`; 0.001 when left out",
        1e-3, low=0, below=1,
    )  # fmt: skip
    gap: float | None = _setting(
        "the run ends when its front is proven to be within this share of the best front, such as 0.01",
        None, low=0, high=1e9,
    )  # fmt: skip
    gap_every: int = _setting(
        "evaluations before the first proof of the gap; 10000 when left out", 10_000, low=1, high=2**62
    )
    restarts: int = _setting(
        "times that a run which stagnates restarts with other random numbers before it ends",
        0, low=0, high=10_000, of_searches=True,
    )  # fmt: skip
    start_from: tuple[str, ...] = _setting(
        "folders of runs, or files of fronts, whose designs the run starts from", (),
        role="place", asked=str | tuple[str, ...], of_searches=True,
    )  # fmt: skip
    start_digest: str = _setting("SHA-256 of the designs that the run starts from", "", hidden=True)
    memetic: float = _setting(
        "share of the evaluations that give designs of the front better bandwidths; when left out, the share that "
        "pays off for the engine",
        0.0, low=0, high=0.5, per_engine=True, chosen=True,
    )  # fmt: skip
    epsilon: float = _setting(
        "of designs whose objectives all differ by less than this share the front has one, 0 for all designs; when "
        "left out, 0.0001 with bandwidths that are numbers, and 0 else",
        0.0, low=0, high=0.1, chosen=True,
    )  # fmt: skip
    islands: int = _setting(
        "searches side by side that exchange designs; each has the whole population",
        1, low=1, high=4096, per_engine=True, of_searches=True,
    )  # fmt: skip
    keep: Keep = _setting("what is kept: the front alone, or also every design that is evaluated", "front", key="keep")  # noqa: RUF009


def _table() -> dict[str, Setting]:
    kinds = get_type_hints(Settings)
    return {
        one.name: Setting(
            one.name, kinds[one.name], default=one.default,
            **{"asked": kinds[one.name], **one.metadata},
        )
        for one in fields(Settings)
    }  # fmt: skip


SETTINGS: Mapping[str, Setting] = _table()
"""Every setting of a run, by its name, in the order in which help lists them."""


def asked_settings() -> list[Setting]:
    """Return the settings that users give."""
    return [one for one in SETTINGS.values() if not one.hidden]


def settings_json(settings: Settings, *, short: bool = False) -> dict[str, Any]:
    """Return settings as the JSON files of a run have them.

    The short form leaves out what is as in a plain search, where `Setting.read` knows it.
    """
    values = {one: getattr(settings, one.name) for one in SETTINGS.values()}
    plain = {one.key: value for one, value in values.items() if one.key}
    method = {one.name: value for one, value in values.items() if not one.key and (value != one.default or not short)}
    return {**plain, _METHOD: method}


def read_settings(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings in the manifest or the plan of a run.

    Raises a `KeyError` where an older version of the program did not write one that is needed.
    """
    return {one.name: one.read(data) for one in SETTINGS.values()}


def file_keys(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of an experiment file for a run with the settings of a manifest or a plan.

    Raises a `KeyError` as for `read_settings`.
    """
    found = read_settings(data)
    named = [one for one in asked_settings() if one.required or one.chosen or found[one.name] != one.default]
    values = {_PLURAL.get(one.name, one.name): found[one.name] for one in named}
    return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}


_PLURAL = {"engine": "engines", "seed": "seeds"}


def searched(settings: Settings, role: Role) -> dict[str, Any]:
    """Return the settings of a role that a run's hash depends on: the problem's, and those unlike a plain search."""
    return {
        one.name: value
        for one in SETTINGS.values()
        if one.role == role and ((value := getattr(settings, one.name)) != one.default or one.required)
    }
