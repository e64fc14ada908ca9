"""A server that answers 1 request in 50 after 2 s: second requests keep large reads short."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.remote.servers import slow_server
from obstore.store import HTTPStore

import omnizarr
from omnizarr.store import ObjectStore


@pytest.mark.parametrize("client", ["our own", "obstore"])
@pytest.mark.parametrize("seconds", [0.0, 0.005])
def test_no_read_waits_for_a_late_answer(tmp_path: Path, client: str, seconds: float) -> None:
    """Late answers never arrive within this test, so that the read ends only if it does not wait for them."""
    data = np.arange(400 * 16, dtype="u2").reshape(400, 16)
    omnizarr.create_array(tmp_path, data=data, chunks=(1, 16), compressors=None)
    with slow_server(tmp_path, seconds, 50, 1000.0) as url:
        store = (
            ObjectStore.from_url(url, read_timeout=900, timeout=900)
            if client == "our own"
            else ObjectStore(HTTPStore(url, client_options={"allow_http": True, "timeout": "900s"}))
        )
        z = omnizarr.open_array(store)
        assert np.array_equal(z.read(timeout=60), data)
