"""LIBRA's layers: their files, generators and iterations."""
