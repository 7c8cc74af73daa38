"""The keys of a format in three lists: without effect, approximated, and those that change the model or the job."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import Field, RootModel

from evo_libra.exchange.keys import Keys
from evo_libra.files.source import StrictModel, read_packaged, validate

_FILE = Path(__file__).parent / "key_lists.yaml"

_STRUCTURAL = re.compile(
    r"layer|block|attn|attention|expert|moe|head|hidden|ffn|feed-forward|mlp|glu|embed|latent|lora|rank|mamba|ssm|conv"
    r"|window|sparse|hybrid|pattern|recurr|delta|linear|residual|stream|hyper|memory|stage|vision|encoder|decoder|mtp"
    r"|predict|vocab|tied|untie|share|kv|quer|mla|width|dim$|depth|channels|topk|size$|length$|freeze|frozen|num-|parallel"
)
"""Words in the name of a key that is not known which say that it may change the model or the job."""


class KeyLists(StrictModel):
    """Keys that no size is read from; names have dashes, and a star stands for any letters."""

    without_effect: list[str] = Field([], description="change neither time nor memory nor cost here")
    approximated: dict[str, str] = Field({}, description="are not carried: the effect of each, with its size")
    changes: dict[str, str] = Field({}, description="change the model or the job: a file that has one is refused")


class _Formats(RootModel[dict[str, KeyLists]]):
    pass


@lru_cache(maxsize=1)
def key_lists() -> Mapping[str, KeyLists]:
    """Return the lists of every format by its name."""
    return validate(_Formats, read_packaged(_FILE)).root


def judge(keys: Keys, name: str) -> None:
    """Put each key of a file that was not read into one of the three lists of a format.

    A key that changes the model is a mistake, unless it is off. So is one that is not known and that has a word of
    models in its name.
    """
    lists, effectless = key_lists()[name], names_of(tuple(key_lists()[name].without_effect))
    for path, value in keys.untaken():
        words = str(next((part for part in reversed(path) if isinstance(part, str)), "")).replace("_", "-").lower()
        if keys.is_explained(path):
            continue
        if not _is_on(value):
            keys.taken.add(path)
        elif (why := _first(lists.changes, words)) is not None:
            keys.wrong(path, f"found {value!r:.60}; {why}")
        elif effectless.have(words):
            keys.taken.add(path)
        elif (effect := _first(lists.approximated, words)) is not None:
            keys.reasons[path] = f"found {value!r:.60}; {effect}"
        elif _STRUCTURAL.search(words):
            keys.wrong(
                path, f"found {value!r:.60}; this key is not known, and its name says that it may change the model"
            )


def _first(listed: Mapping[str, str], words: str) -> str | None:
    if not names_of(tuple(listed)).have(words):
        return None
    return next(text for known, text in listed.items() if fnmatchcase(words, known))


@dataclass(frozen=True)
class Names:
    """Names with stars, for files of a hundred thousand keys: whole ones, beginnings, ends, and all others."""

    whole: frozenset[str]
    begins: tuple[str, ...]
    ends: tuple[str, ...]
    others: tuple[str, ...]

    def have(self, words: str) -> bool:
        """Return whether one of them is that of a key."""
        plain = words in self.whole or words.startswith(self.begins) or words.endswith(self.ends)
        return plain or any(fnmatchcase(words, name) for name in self.others)


@lru_cache(maxsize=64)
def names_of(names: tuple[str, ...]) -> Names:
    """Return names with stars by kind."""
    plain = {name: name.strip("*") for name in names}
    simple = {name: bare for name, bare in plain.items() if not set(bare) & set("*?[")}
    return Names(
        frozenset(name for name, bare in simple.items() if bare == name),
        tuple(bare for name, bare in simple.items() if name == f"{bare}*"),
        tuple(bare for name, bare in simple.items() if name == f"*{bare}" and bare),
        tuple(name for name, bare in plain.items() if name not in simple or name not in {bare, f"{bare}*", f"*{bare}"}),
    )


def _is_on(value: Any) -> bool:  # noqa: ANN401 - whatever the file has
    return value not in (None, False, 0, "none", "None", "false", "False", [], {})
