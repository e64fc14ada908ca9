"""Creates the corpus `tests/corpora/draft-2020`: small arrays and groups in the draft of October 2020, by zarr-python
2.

`python tests/corpora/make_draft_2020.py` creates the environment `zarr2` of `tests/peers` if it is missing, runs this
file in it, and replaces the corpus, its description and its PROVENANCE.md.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.corpora.making import Corpus, main


def writers() -> dict[str, Any]:
    """The parts, each with its environment and the package that names it."""
    from tests.peers.environments import RECIPES

    return {"zarr2_draft": (next(recipe for recipe in RECIPES if recipe.name == "zarr2"), "zarr")}


def inside(writer: str, corpus: Corpus) -> None:
    """Runs in the environment of a writer."""
    importlib.import_module(f"tests.corpora.writers.{writer}").write_all(corpus)


REMARKS = (
    "",
    "zarr-python was run with `ZARR_V3_EXPERIMENTAL_API=1` and `ZARR_V3_SHARDING=1`.",
)

if __name__ == "__main__":
    main("draft-2020", __file__, {} if sys.argv[1:2] == ["--inside"] else writers(), inside, REMARKS)
