"""Catalogues: the link technologies and parts that can be bought, from YAML files."""
