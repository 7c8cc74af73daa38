"""Engines that see the genome, the evaluator and the archive, and nothing else.

``evo_libra.searching`` is the name of this room and of the function that users call, `evo_libra.searching.generations.search`. Python
binds a package's name in its parent when it is first imported, so the module itself can be called.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evo_libra.front.front import Front


class _Room(ModuleType):
    def __call__(self, *arguments: Any, **options: Any) -> Front:  # noqa: ANN401 - those of the function
        from evo_libra.searching.generations import search  # noqa: PLC0415 - importing a room must stay quick

        return search(*arguments, **options)


sys.modules[__name__].__class__ = _Room
