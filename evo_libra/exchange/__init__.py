"""From files of other programs to problem files."""
