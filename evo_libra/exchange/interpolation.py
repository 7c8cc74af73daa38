"""Sizes of YAML that refer to others, as OmegaConf and NeMo write them: ``${.hidden_size}``, ``${multiply:4, 8}``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from evo_libra.files.source import Source

_NAME = re.compile(r"\$\{(\.?)([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\}")
_CALL = re.compile(r"\$\{(multiply|divide_ceil|divide_floor):\s*([0-9]{1,12})\s*,\s*([0-9]{1,12})\s*\}")
_WHOLE = re.compile(r"[0-9]{1,12}")
_DEEPEST = 8
"""References from one size to the next that are followed."""


def interpolated(source: Source, *parts: str) -> Source:
    """Return a source in which the sizes of some mappings are computed that refer to other whole numbers.

    What refers to text or to another file stays as it is.
    """
    data = dict(source.data)
    for part in parts:
        if isinstance(near := data.get(part), dict):
            data[part] = {key: _value(value, near, source.data) for key, value in near.items()}
    return replace(source, data=data)


def _value(value: Any, near: Mapping[Any, Any], whole: Mapping[Any, Any]) -> Any:  # noqa: ANN401 - data of a file
    if not isinstance(value, str) or "${" not in value:
        return value
    text = value
    for _ in range(_DEEPEST):
        text = _NAME.sub(lambda match: _found(match, near, whole), text)
        text = _CALL.sub(_computed, text)
    return int(text) if _WHOLE.fullmatch(text) else value


def _found(match: re.Match[str], near: Mapping[Any, Any], whole: Mapping[Any, Any]) -> str:
    found: Any = near if match[1] else whole
    for part in match[2].split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    reference = isinstance(found, str) and (_NAME.fullmatch(found) or _CALL.fullmatch(found) or "${" in found)
    return str(found) if type(found) is int or (reference and found != match[0]) else match[0]


def _computed(match: re.Match[str]) -> str:
    first, second = int(match[2]), int(match[3])
    if match[1] == "multiply":
        return str(first * second)
    if not second:
        return match[0]
    return str(-(-first // second) if match[1] == "divide_ceil" else first // second)
