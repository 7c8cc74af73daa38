"""The characters of a text that a terminal obeys, and the text with those as escapes.

Who prints a name from outside takes them out of it; streams are left as they are. Next to nothing is imported here.
"""

from __future__ import annotations

import re

CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that a terminal obeys instead of showing them, those that turn the direction of writing, and halves."""


def escape_controls(text: str) -> str:
    r"""Return a text of lines in which characters that a terminal obeys are written as escapes.

    >>> escape_controls("\x1b[31mred\n")
    '\\x1b[31mred\n'
    """
    return CONTROLS.sub(lambda found: repr(found[0])[1:-1], text)
