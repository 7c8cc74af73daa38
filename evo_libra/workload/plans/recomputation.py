"""Parts of the forward pass that run again in the backward pass, as numbers and as words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from evo_libra.arrays import BoolArray, IntArray
from evo_libra.errors import unknown
from evo_libra.workload.models.decoder import Decoder
from evo_libra.workload.models.layers.kept import ATTENTION, MODULES, NORM
from evo_libra.workload.models.layers.sublayer import WHOLE

RECOMPUTE = ("none", "selective", "full", "selective-op")
"""Kinds: nothing; the attention core; all of a layer; every operation but attention and every second product."""

NONE, SELECTIVE, FULL, OPERATIONS = range(4)

_NAMED = tuple(name for name in MODULES if name != ATTENTION)
_KINDS = 2
"""Bits of the kind; those above stand for a named module each."""

WORDS = (*RECOMPUTE, *MODULES)
"""Allowed words; modules, and `selective` among them, may be joined by a plus sign."""


def kind_of(recompute: IntArray) -> IntArray:
    """Return (n,) kinds of recomputation, named modules left out.

    >>> kind_of(np.array([recompute_of("full"), recompute_of("core_attn+moe_act")])).tolist()
    [2, 1]
    """
    return recompute & (1 << _KINDS) - 1


def runs_again(recompute: IntArray, module: str) -> BoolArray:
    """Return (n,) whether a named module runs again, by itself and not as a part of a whole layer.

    >>> runs_again(np.array([recompute_of("moe_act+layernorm")]), "moe_act").tolist()
    [True]
    """
    if module == ATTENTION:
        return np.asarray(kind_of(recompute) == SELECTIVE)
    return np.asarray(recompute >> _KINDS + _NAMED.index(module) & 1 == 1)


def recompute_of(text: str) -> int:
    """Return the number of a kind, or of modules that are joined by a plus sign.

    >>> recompute_of("none"), recompute_of("core_attn"), recompute_of("layernorm+core_attn")
    (0, 1, 5)

    Raises
    ------
    ValueError : a word is unknown, or cannot be joined.
    """
    words = text.split("+")
    for word in words:
        if word not in WORDS:
            raise ValueError(unknown("recomputation", word, WORDS))
        if len(words) > 1 and word in RECOMPUTE and word != "selective":
            raise ValueError(f"'{word}' stands alone; modules are joined: {', '.join(MODULES)}")
    number = 0
    for word in words:
        number |= RECOMPUTE.index(_word(word)) if _word(word) in RECOMPUTE else 1 << _KINDS + _NAMED.index(word)
    return number


def _word(word: str) -> str:
    return "selective" if word == ATTENTION else word


def recompute_text(number: int) -> str:
    """Return the words of a number.

    >>> recompute_text(recompute_of("moe_act+selective")), recompute_text(0)
    ('selective+moe_act', 'none')
    """
    named = [name for place, name in enumerate(_NAMED) if number >> _KINDS + place & 1]
    kind = number & (1 << _KINDS) - 1
    return "+".join([*([RECOMPUTE[kind]] if kind or not named else []), *named])


def named_modules(model: Decoder) -> set[str]:
    """Return the modules of a model that can run again by their names."""
    parts = [part for kind in model.stack.kinds for part in kind]
    return {module for part in parts for tensor in part.tensors(WHOLE) for module in tensor.modules} | {NORM}


def lacking_modules(model: Decoder, numbers: Iterable[int]) -> Iterator[str]:
    """Yield a sentence for each named module that runs again in some plan and that no layer of a model has."""
    known = named_modules(model)
    for module in modules_of(numbers):
        if module not in known:
            has = ", ".join(name for name in _NAMED if name in known)
            yield f"found {module}; no layer of {model.name} has it, and those that can run again by name are {has}"


def modules_of(numbers: Iterable[int]) -> tuple[str, ...]:
    """Return the named modules that run again in some plan; the attention core is none of them.

    >>> modules_of([0, recompute_of("moe_act"), recompute_of("full")])
    ('moe_act',)
    """
    every = int(np.bitwise_or.reduce([*numbers, 0])) >> _KINDS
    return tuple(name for place, name in enumerate(_NAMED) if every >> place & 1)
