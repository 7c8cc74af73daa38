"""What a result came from: versions, git state, machine."""

from __future__ import annotations

import hashlib
import json
import platform
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from evo_libra import __version__

_ELSEWHERE = ("astra_sim", "experiment", "ui")
"""Rooms that the figures of a run do not depend on."""
_PACKAGES = ("numpy", "moocore", "pymoo", "deap", "clarabel", "polars", "pydantic", "ruamel.yaml")


def canonical_hash(data: Mapping[str, Any]) -> str:
    """Return the SHA-256 of JSON-able data in its one canonical form."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def versions() -> dict[str, str]:
    """Return the versions of the program, of Python and of every package that results depend on."""
    from importlib.metadata import version  # noqa: PLC0415 - who only looks at results does not need it

    return {
        "evo-libra": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in _PACKAGES},
    }


@cache
def program() -> str:
    """Return a digest of the program's code that results depend on: models, problems, fronts, engines.

    It changes with the code alone, not with documentation, commands or the place of installation.
    """
    package = Path(__file__).parents[2]
    digest = hashlib.sha256(__version__.encode())
    for path in sorted(package.rglob("*.py")):
        if (name := path.relative_to(package)).parts[0] not in _ELSEWHERE:
            digest.update(f"{name.as_posix()}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


@cache
def git_state() -> dict[str, Any] | None:
    """Return commit and cleanliness of the checkout that the program runs from; None outside a checkout."""
    folder = Path(__file__).parent
    try:
        commit = _git(folder, "rev-parse", "HEAD")
        return {"commit": commit, "clean": not _git(folder, "status", "--porcelain", "--", ".")}
    except (OSError, subprocess.CalledProcessError, subprocess.TimeoutExpired):
        return None


def _git(folder: Path, *words: str) -> str:
    command = ["git", "-C", str(folder), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()  # noqa: S603 - fixed words


@cache
def machine() -> dict[str, str]:
    """Return what the run ran on."""
    processor = platform.processor() or platform.machine()
    return {"host": platform.node(), "system": platform.platform(), "processor": processor}
