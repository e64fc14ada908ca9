"""Processes that write parts of the same chunks and append rows in one bucket lose no update."""

from __future__ import annotations

from typing import Any

import pytest
from tests.safety.processes import run_all
from tests.servers.running import RunningServer

import omnizarr


def write(url: str, options: dict[str, Any], number: int) -> None:
    z = omnizarr.open_array(url, path="z", storage_options=options)
    rows = omnizarr.open_array(url, path="rows", storage_options=options)
    for index in range(number, 32, 4):
        z[index] = index + 1
        z.attrs[str(index)] = index
    for _ in range(3):
        rows.append([number, number])


@pytest.mark.parametrize("layout", [{"chunks": 32}, {"chunks": 8, "shards": 32}])
def test_processes_lose_no_partial_write_and_no_append(s3: RunningServer, layout: dict[str, Any]) -> None:
    url = s3.new()
    omnizarr.create_array(url, name="z", shape=32, dtype="i4", storage_options=s3.options, **layout)
    omnizarr.create_array(url, name="rows", shape=0, dtype="i4", chunks=4, storage_options=s3.options)
    run_all(write, [(url, s3.options, number) for number in range(4)])
    z = omnizarr.open_array(url, path="z", mode="r", storage_options=s3.options)
    assert z[...].tolist() == list(range(1, 33))
    assert sorted(z.attrs.asdict().values()) == list(range(32))
    rows = omnizarr.open_array(url, path="rows", mode="r", storage_options=s3.options)
    assert sorted(rows[...].tolist()) == sorted([0, 1, 2, 3] * 6)
