"""How many examples a property tries: few in the quick suite, many in `./sluice test --all`."""

from __future__ import annotations

import os
from typing import Final

THOROUGH: Final = os.environ.get("SLUICE_TEST_ALL") == "1"


def examples(quick: int) -> int:
    """Return the number of examples; twenty times `quick` in the thorough suite."""
    return quick * (20 if THOROUGH else 1)
