"""Networks: what others published of them, and ASTRA-sim's and LIBRA's own figures."""

from __future__ import annotations

from evo_libra.validation.astra import ASTRA
from evo_libra.validation.fabrics import FABRICS
from evo_libra.validation.fred import FRED
from evo_libra.validation.libra import LIBRA
from evo_libra.validation.rail_only import RAIL_ONLY
from evo_libra.validation.roce.rows import ROCE
from evo_libra.validation.themis import THEMIS

NETWORKS = (*THEMIS, *FRED, *RAIL_ONLY, *FABRICS, *LIBRA, *ASTRA, *ROCE)
