"""Workers that a scheduler no longer hears of, whatever any clock says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

TOLD_SECONDS = 30.0
"""Time without a sign of life after which a worker is reported."""
DROPPED_SECONDS = 120.0
"""Time after which its runs go to others."""


@dataclass
class _Seen:
    """When a worker's last sign of life changed, and whether its silence was reported."""

    sign: Any
    since: float
    reported: bool = False


@dataclass
class Silence:
    """What an observer knows of workers from when their signs of life change; what these say decides nothing."""

    _seen: dict[str, _Seen] = field(default_factory=dict)

    def look(self, now: float, signs: Mapping[str, Any], slowness: float = 1.0) -> tuple[list[str], list[str]]:
        """Return the workers to tell of, each once, and those to drop.

        Parameters
        ----------
        now : seconds of a clock that never jumps.
        signs : by worker, something that changes while it lives.
        slowness : by how much more patience is needed, where signs are sent less often.
        """
        self._seen = {name: self._of(name, sign, now) for name, sign in signs.items()}
        quiet = {name: now - seen.since for name, seen in self._seen.items()}
        newly = [name for name in self._longer(quiet, TOLD_SECONDS * slowness) if not self._seen[name].reported]
        for name in newly:
            self._seen[name].reported = True
        return newly, list(self._longer(quiet, DROPPED_SECONDS * slowness))

    def _of(self, name: str, sign: Any, now: float) -> _Seen:  # noqa: ANN401 - whatever changes
        known = self._seen.get(name)
        return known if known is not None and known.sign == sign else _Seen(sign, now)

    @staticmethod
    def _longer(quiet: Mapping[str, float], seconds: float) -> Iterable[str]:
        return [name for name, time in quiet.items() if time > seconds]
