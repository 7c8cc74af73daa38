"""Fabrics: graphs of layers of switches over NPUs, and figures of them that are exact by the digits of addresses."""
