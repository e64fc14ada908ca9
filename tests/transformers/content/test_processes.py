"""Many processes write equal and different values at once while others collect garbage, and some are killed."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.safety.processes import forked, run_all, wait_for
from tests.transformers.content.contents import objects

import omnizarr
from omnizarr.store import LocalStore
from omnizarr.transformers import ContentAddressed, HashedDirectories, StorageTransformer
from omnizarr.transformers.content import objects as content_objects
from omnizarr.transformers.content.pointer import Addresses

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

STACKS: dict[str, list[StorageTransformer]] = {
    "content": [ContentAddressed()],
    "hashed": [HashedDirectories()],
    "both": [HashedDirectories(), ContentAddressed()],
}


@pytest.mark.parametrize("stack", STACKS)
def test_Z16_no_update_of_several_processes_is_lost(stack: str, tmp_path: Path) -> None:
    """Each process adds to its own elements of shared chunks, so that every write replaces the values of others."""
    omnizarr.create_array(tmp_path, shape=24, chunks=6, dtype="u4", storage_transformers=STACKS[stack])

    def work(number: int) -> None:
        z = omnizarr.open_array(tmp_path)
        for _ in range(8):
            for element in range(number, 24, 4):
                z[element] = int(z[element]) + 1
            if stack != "hashed" and number == 0:
                omnizarr.collect_garbage(z)  # condemns many objects, of which some come back

    run_all(work, [(number,) for number in range(4)])
    assert omnizarr.open_array(tmp_path)[...].tolist() == [8] * 24
    if stack != "hashed":
        found = omnizarr.collect_garbage(tmp_path, min_age=0)
        assert found.removed > 0
        assert omnizarr.open_array(tmp_path)[...].tolist() == [8] * 24


def test_Z15_processes_store_the_same_value_at_once(tmp_path: Path) -> None:
    omnizarr.create_group(tmp_path)
    omnizarr.create_array(
        tmp_path, name="a", shape=40, chunks=1, dtype="u1", compressors=None, storage_transformers=[ContentAddressed()]
    )

    def work(number: int) -> None:
        z = omnizarr.open_array(tmp_path, path="a")
        for element in range(number, 40, 4):
            z[element] = 1 + element // 20

    run_all(work, [(number,) for number in range(4)])
    assert len(objects(LocalStore(tmp_path))) == 2
    assert omnizarr.open_array(tmp_path, path="a")[...].tolist() == [1] * 20 + [2] * 20


@pytest.mark.parametrize("moment", ["object", "pointer"])
def test_Z14_a_writer_that_is_killed_leaves_the_old_value(
    moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = np.arange(10, dtype="u1")
    z = omnizarr.create_array(
        tmp_path, data=old, chunks=10, compressors=None, storage_transformers=[ContentAddressed()]
    )

    def die(*_: Any) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)

    def work() -> None:
        if moment == "object":  # before it is stored
            monkeypatch.setattr(content_objects.secrets, "token_hex", die)
            monkeypatch.setattr(LocalStore, "set", die)
        else:  # between the object and the pointer
            monkeypatch.setattr(Addresses, "dump", die)
        omnizarr.open_array(tmp_path)[...] = 7

    assert wait_for(forked(work)) == -signal.SIGKILL
    assert z[...].tolist() == old.tolist()
    left = omnizarr.collect_garbage(z, min_age=0, dry_run=True)
    assert (left.objects, left.removed) == ((2, 1) if moment == "pointer" else (1, 0))
    z[...] = 7  # the object that is there is used
    assert omnizarr.collect_garbage(z, min_age=0).removed == 1
    assert z[...].tolist() == [7] * 10
