"""The command line of a study: ``--help`` says what a script does; a word that the script does not take is refused."""

from __future__ import annotations

import argparse


def parser_of(description: str | None) -> argparse.ArgumentParser:
    """Return a parser whose help begins with the docstring of a script, in its own lines."""
    return argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)


def no_arguments(description: str | None) -> None:
    """Parse the command line of a script that takes no words."""
    parser_of(description).parse_args()
