"""Tools: each runs the command of its name, takes the options of it, and returns its JSON with the schema of that."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cyclopts import App
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool

from evo_libra.errors import EvoLibraError, InputError
from evo_libra.explain.record_schema import Schema
from evo_libra.searching.registry import is_code
from evo_libra.ui.agents.calls import Place, Tell, call, command_line, thinned, without_code
from evo_libra.ui.agents.options import Option, options_of

THINNED = ("search", "front")
"""Commands whose fronts may have thousands of designs."""
_ADDRESSES = ("problem", "result", "design", "first", "second")
_ROWS = Option("rows", int, 20, "Designs of the front to return, in even steps with both ends.", listed=False)
_DESIGNS: Schema = {"type": "integer", "description": "Designs of the whole front."}
_CONTEXT = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=Context)


@dataclass(frozen=True)
class _Command:
    """A command of a name, its options for tools, and the folder that it runs in."""

    name: str
    options: Sequence[Option]
    place: Place

    async def run(self, context: Context, **given: Any) -> dict[str, Any]:  # noqa: ANN401 - of the types of options
        """Return the answer of the command; the error of a tool has its sentence."""
        rows = given.pop(_ROWS.name, None)
        try:
            _refuse_code(given)
            answer = await call(self.place, self._words(given), self._tell(context, given))
        except EvoLibraError as error:
            raise ToolError(str(error)) from None
        return answer if rows is None else thinned(answer, rows)

    def _words(self, given: Mapping[str, Any]) -> list[str]:
        listed = [str(value) for one in self.options if one.listed for value in given[one.name]]
        named = {one.name: given[one.name] for one in self.options if not one.listed and one.name in given}
        return command_line(self.name, listed, named)

    def _tell(self, context: Context, given: Mapping[str, Any]) -> Tell | None:
        """Return what tells how far a search is."""

        async def tell(done: int) -> None:
            await context.report_progress(done, given.get("evaluations"), f"{done:,} designs evaluated")

        return tell if self.name == "search" else None


def _refuse_code(given: Mapping[str, Any]) -> None:
    """Refuse names of code among the values of options."""
    names = {name: str(value) for name, value in given.items() if name in _ADDRESSES and value is not None}
    without_code(**names)
    if is_code(given.get("engine") or ""):
        raise InputError(f"engine: '{given['engine']}' names code, and tools run no code of a user")


def tool_of(name: str, command: App, schema: Schema, place: Place) -> Tool:
    """Return the tool of a command, whose answers have a schema."""
    options = options_of(command)
    parameters = [*options, _ROWS] if name in THINNED else options
    run = _function(_Command(name, options, place), parameters)
    made = Tool.from_function(run, name=name, description=_summary(command))
    counted = {"properties": {**schema["properties"], "designs": _DESIGNS}} if name in THINNED else {}
    made.fn_metadata.output_schema = {**schema, **counted}
    return made


def _function(command: _Command, parameters: Sequence[Option]) -> Any:  # noqa: ANN401 - a function of any options
    """Return a function with the parameters of a tool, as the protocol's library reads them."""

    async def run(**given: Any) -> dict[str, Any]:  # noqa: ANN401 - of the types of options
        return await command.run(**given)

    taken = [one.parameter for one in parameters] + [_CONTEXT]
    run.__name__ = command.name
    vars(run)["__signature__"] = inspect.Signature(taken, return_annotation=dict[str, Any])
    run.__annotations__ = {one.name: one.annotation for one in taken} | {"return": dict[str, Any]}
    return run


def _summary(command: App) -> str:
    """Return what a command does, the first line of its help."""
    return (command.help or "").partition("\n")[0]
