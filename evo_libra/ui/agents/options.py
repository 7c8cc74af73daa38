"""Parameters of tools: the options of commands, with the types, defaults and help that the command line has."""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from cyclopts import App
from pydantic import Field

PRINTED = frozenset({"json", "plot", "rows", "wide", "all", "sources", "csv", "markdown", "parquet"})
"""Options of what a command prints or draws for people: tools answer with the JSON."""
UNCONFINED = frozenset({"trust_code", "out", "workers", "timeout", "asynchronous", "islands"})
"""Options that run code of a user, that write elsewhere, or that start processes, which would not be confined."""
_EMPTY = inspect.Parameter.empty
_OPTION = re.compile(r"--([a-z][a-z-]*)")


@dataclass(frozen=True)
class Option:
    """An option of a command as a parameter of a tool.

    Attributes
    ----------
    name : on the command line, with underscores.
    kind : type of the value.
    default : the empty one of `inspect` where a value is needed.
    listed : whether its values follow the options on the command line.
    """

    name: str
    kind: Any
    default: Any
    help: str
    listed: bool

    @property
    def parameter(self) -> inspect.Parameter:
        """The parameter of a function."""
        default = {} if self.default is _EMPTY else {"default": self.default}
        field = Field(description=self.help, **default)
        return inspect.Parameter(self.name, inspect.Parameter.KEYWORD_ONLY, default=field, annotation=self.kind)


def options_of(command: App, but: Collection[str] = PRINTED | UNCONFINED) -> list[Option]:
    """Return the options of a command but some; other options are named in help as parameters are."""
    found = [
        Option(
            name=one.name.lstrip("-").replace("-", "_").lower(),
            kind=one.hint,
            default=one.field_info.default if one.required or one.field_info.default is not _EMPTY else (),
            help=_OPTION.sub(lambda name: f"`{name[1].replace('-', '_')}`", one.parameter.help or ""),
            listed=one.field_info.kind is inspect.Parameter.VAR_POSITIONAL,
        )
        for one in command.assemble_argument_collection(parse_docstring=True)
    ]
    return [one for one in found if one.name not in but]
