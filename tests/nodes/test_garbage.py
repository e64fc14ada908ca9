"""Handles that are dropped are freed at once: none refers to itself."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr


@pytest.mark.parametrize("shards", [None, 20])
@pytest.mark.parametrize("key", [slice(0, 5), slice(None), [1, 25]], ids=str)
def test_an_array_that_was_read_leaves_nothing_to_the_garbage_collector(tmp_path: Path, shards: Any, key: Any) -> None:
    omnizarr.create_array(tmp_path, data=np.arange(40), chunks=10, shards=shards)
    omnizarr.open_array(tmp_path)[key]  # what the first read keeps for later ones
    gc.collect()
    gc.disable()
    try:
        omnizarr.open_array(tmp_path)[key]
        assert gc.collect() == 0
    finally:
        gc.enable()
