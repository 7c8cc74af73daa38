"""Colours: a dark and a light theme of our own, and the styles of widgets that are drawn line by line."""

from __future__ import annotations

from rich.style import Style
from textual.color import Color
from textual.theme import Theme
from textual.widget import Widget

_DARK_FRONTS = ("#8bd649", "#5fb3ff", "#ffa348", "#cf9fff", "#ff7b72", "#f2cc60", "#4fd6c9", "#ff9bce")
_LIGHT_FRONTS = ("#2f7d12", "#0b62c4", "#b04a00", "#7a3fd1", "#c4232b", "#7d6000", "#0c7a72", "#b02c7d")
_STEPS = 8
_PLAIN = {True: ("#101215", "#dfe3e8"), False: ("#fbfbfa", "#1d2127")}

DARK = Theme(
    name="evo-dark", primary="#4aa3ff", secondary="#7fa8d1", accent="#ffa62b", warning="#f2cc60", error="#ff6b6b",
    success="#8bd649", foreground="#dfe3e8", background="#101215", surface="#171a1f", panel="#232931", dark=True,
)  # fmt: skip
LIGHT = Theme(
    name="evo-light", primary="#0b62c4", secondary="#4d7fb5", accent="#b35900", warning="#8a6a00", error="#b3202a",
    success="#2f7d12", foreground="#1d2127", background="#fbfbfa", surface="#f1f2f3", panel="#e1e5ea", dark=False,
)  # fmt: skip


def variables(theme: Theme) -> dict[str, str]:
    """Return the colours that the terminal UI has besides a theme's own: of fronts, muted texts, bars.

    They are mixed here and not by the style sheet, since the parts of a widget that is drawn line by line do not know
    what they lie on.
    """
    plain = _PLAIN[theme.dark]
    back, front = Color.parse(theme.background or plain[0]), Color.parse(theme.foreground or plain[1])
    primary = Color.parse(theme.primary)
    fronts = _DARK_FRONTS if theme.dark else _LIGHT_FRONTS
    return {
        **{f"front-{which}": colour for which, colour in enumerate(fronts)},
        "muted": back.blend(front, 0.62).hex,
        "faint": back.blend(front, 0.36).hex,
        "frame": back.blend(primary, 0.45).hex,
        "cursor": back.blend(primary, 0.25).hex,
        **{f"progress-{n}": back.blend(primary, 0.4 + 0.6 * n / (_STEPS - 1)).hex for n in range(_STEPS)},
    }


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
