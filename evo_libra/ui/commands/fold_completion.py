"""The option that installs completion of commands for shells; to import it adds it."""

from __future__ import annotations

from evo_libra.ui.commands.shared import app

app.register_install_completion_command(add_to_startup=False)
