"""All building blocks: those of the files of this package, and those that other packages register."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

from evo_libra.errors import InputError
from evo_libra.installed import entry_points_of
from evo_libra.network.blocks.block import Block

ENTRY_POINTS = "evo_libra.blocks"
"""Group under which a package registers its blocks: objects of `Block`, or tuples of them."""

CODE = re.compile("[A-Z]+[0-9]*")
"""Pattern of codes."""

LIBRA = ("ring", "fully-connected", "switch")
"""Blocks of LIBRA, which come first."""


def _packaged() -> list[Block]:
    """Return LIBRA's blocks, then the others by name, whatever file each is in: fronts depend on the order."""
    names = (module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)]))
    modules = (import_module(f"evo_libra.network.blocks.{name}") for name in names if name != "registry")
    blocks = {block.name: block for module in modules for block in getattr(module, "BLOCKS", ())}
    return [blocks[name] for name in (*LIBRA, *sorted(blocks.keys() - set(LIBRA)))]


def _registered() -> list[Block]:
    found: list[Block] = []
    for entry in sorted(entry_points_of(ENTRY_POINTS), key=lambda entry: entry.name):
        blocks = entry.load()
        for block in blocks if isinstance(blocks, tuple) else (blocks,):
            if not isinstance(block, Block):
                raise InputError(f"entry point '{entry.name}' of group {ENTRY_POINTS} is no block but {block!r:.80}")
            found.append(block)
    return found


def distinct(blocks: Iterable[Block]) -> tuple[Block, ...]:
    """Return blocks as a tuple; an InputError refuses two of one code or name, and codes of other than capitals.

    Digits may follow the capitals.
    """
    blocks = tuple(blocks)
    for index, block in enumerate(blocks):
        if not CODE.fullmatch(block.code):
            raise InputError(f"the block '{block.name}' has the code '{block.code}'; a code is of capital letters")
        for other in blocks[:index]:
            if block.code == other.code or block.name == other.name:
                raise InputError(
                    f"the blocks '{other.name}' ({other.code}) and '{block.name}' ({block.code}) have one name or code"
                )
    return blocks


BLOCKS = distinct((*_packaged(), *_registered()))
"""Every block; indices of blocks in the arrays of populations are places here."""

BLOCK_NAMES = tuple(block.name for block in BLOCKS)
