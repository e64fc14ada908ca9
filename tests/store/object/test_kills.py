"""A shrink on S3 that is killed: the elements outside the new shape do not come back."""

from __future__ import annotations

import numpy as np
import pytest
from tests.safety.processes import killed_after
from tests.servers.proxy import Faults, Proxy
from tests.servers.running import RunningServer

import omnizarr
from omnizarr.model import UNFINISHED_RESIZE
from omnizarr.nodes import resize_mark


def test_a_shrink_that_is_killed(s3: RunningServer, faulty_s3: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resize_mark, "_LEASE", 0.2)
    faulty_s3.faults = Faults(latency=0.01)
    options = {**s3.through(faulty_s3.endpoint), "conditional": "trust"}
    marks = 0
    for kill in range(6):
        url = s3.new()
        omnizarr.create_array(url, data=np.arange(1, 31), chunks=2, fill_value=0, storage_options=s3.options)
        killed_after(
            lambda url=url: omnizarr.open_array(url, storage_options=options).resize(3),  # type: ignore[misc]
            0.15 + 0.05 * kill,
        )
        z = omnizarr.open_array(url, storage_options=s3.options)
        marks += UNFINISHED_RESIZE in z._model.extra
        before = z.shape[0]
        z.append([77])
        z.resize(31)
        found = z[...].tolist()
        assert found[:before] == list(range(1, before + 1))
        assert found[before] == 77
        assert not any(found[before + 1 :]), "what was cut off does not come back"
    print(f"{marks} of 6 kills left a mark")
