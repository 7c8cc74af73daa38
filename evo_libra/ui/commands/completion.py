"""Completion of command lines by the shell."""

from __future__ import annotations

from evo_libra.ui.commands.shared import app

app.register_install_completion_command(add_to_startup=False)
