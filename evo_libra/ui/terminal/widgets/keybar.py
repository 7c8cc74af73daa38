"""The keys at the foot of the screen: as many as there is room for, none of them cut."""

from __future__ import annotations

from rich.segment import Segment
from textual import events
from textual.binding import Binding
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget


class KeyBar(Widget):
    """A line of keys that can be clicked."""

    COMPONENT_CLASSES = {"keybar--key", "keybar--text"}  # noqa: RUF012 - as Textual's own

    def on_mount(self) -> None:
        """Follow the keys of whatever has the focus."""
        self.screen.bindings_updated_signal.subscribe(self, self._renew)

    def _renew(self, _screen: Screen[object]) -> None:
        self.refresh()

    def _entries(self) -> list[tuple[int, str, Binding]]:
        """Return column, key and binding of what there is room for; help and the palette always are at the end."""
        bindings: dict[str, Binding] = {}
        for active in self.screen.active_bindings.values():
            if active.binding.show and active.enabled:
                bindings.setdefault(active.binding.action, active.binding)
        last = [
            binding for binding in bindings.values() if binding.action in ("perform('view.help')", "quit", "app.quit")
        ]
        others = [binding for binding in bindings.values() if binding not in last]
        shown = [(self.app.get_key_display(binding), binding) for binding in (*others, *last)]
        wide = [len(key) + 1 + len(binding.description) + 2 for key, binding in shown]
        while shown and sum(wide) - 2 > self.size.width and len(shown) > len(last):
            at = len(shown) - len(last) - 1
            del shown[at], wide[at]
        starts = [sum(wide[:at]) for at in range(len(shown))]
        return [(start, key, binding) for start, (key, binding) in zip(starts, shown, strict=True)]

    def render_line(self, y: int) -> Strip:
        """Return the keys."""
        base = self.rich_style
        if y:
            return Strip.blank(self.size.width, base)
        key_style = base + self.get_component_rich_style("keybar--key", partial=True)
        text_style = base + self.get_component_rich_style("keybar--text", partial=True)
        segments = []
        for _, key, binding in self._entries():
            segments += [Segment(key, key_style), Segment(f" {binding.description}  ", text_style)]
        return Strip(segments).adjust_cell_length(self.size.width, base)

    def on_click(self, event: events.Click) -> None:
        """Press the key that is clicked."""
        for start, key, binding in self._entries():
            if start <= event.x < start + len(key) + 1 + len(binding.description):
                self.app.simulate_key(binding.key)
