"""Styles of widgets that are drawn line by line, looked up once for a theme."""

from __future__ import annotations

from rich.style import Style
from textual.theme import Theme
from textual.widget import Widget


class Styles:
    """The styles of a widget's roles, its component classes; to look one up takes longer than to draw a line."""

    def __init__(self, widget: Widget, prefix: str) -> None:
        self._widget, self._prefix = widget, prefix
        self._theme: Theme | None = None
        self._known: dict[tuple[str, ...], Style] = {}

    def forget(self) -> None:
        """Look up every style again."""
        self._theme = None

    def __call__(self, *roles: str) -> Style:
        """Return the style of the widget's background with those of some roles over it; empty ones add nothing."""
        theme = self._widget.app.current_theme
        if theme is not self._theme:
            self._theme, self._known = theme, {}
        if roles not in self._known:
            style = self._widget.rich_style
            for role in roles:
                if role:
                    style += self._widget.get_component_rich_style(f"{self._prefix}--{role}", partial=True)
            self._known[roles] = style
        return self._known[roles]
