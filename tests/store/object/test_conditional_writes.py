"""Conditional writes: answers that are lost after the server stored the value, and servers that ignore conditions."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import pytest
from tests.servers.proxy import Faults, Proxy
from tests.servers.running import RunningServer

import omnizarr
from omnizarr.errors import LocationError, StoreError
from omnizarr.store import ObjectStore
from omnizarr.store.object import probe

LOST: dict[str, Faults] = {
    "reset": Faults(lose=0.3),
    "status 500": Faults(lose=0.3, lost_as=500),
    "status 503": Faults(lose=0.3, lost_as=503),
}
SHORT: dict[str, Any] = {"timeout": 2, "read_timeout": 1, "connect_timeout": 1}


@pytest.fixture(autouse=True)
def forget_servers() -> Iterator[None]:
    yield
    probe._results.clear()


@pytest.mark.parametrize("fault", LOST)
def test_every_append_whose_answer_is_lost_gets_its_rows_once(s3: RunningServer, faulty_s3: Proxy, fault: str) -> None:
    url = s3.new()
    z = omnizarr.create_array(url, shape=0, dtype="i8", chunks=4, fill_value=-1, storage_options=s3.options)
    options = {**s3.through(faulty_s3.endpoint), **SHORT}
    faulty_s3.faults = LOST[fault]

    def work(number: int) -> None:
        # Stores with different options share no task lock, like processes.
        own = omnizarr.open_array(url, storage_options={**options, "max_concurrency": 10 + number})
        for step in range(5):
            own.append([100 * number + step] * 2)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, range(3)))
    assert faulty_s3.lost > 0
    found = Counter(z.refresh()[...].tolist())
    assert found == {100 * number + step: 2 for number in range(3) for step in range(5)}


@pytest.mark.parametrize("fault", LOST)
def test_an_array_whose_creation_got_no_answer_is_created(s3: RunningServer, faulty_s3: Proxy, fault: str) -> None:
    faulty_s3.faults = replace(LOST[fault], lose=0.5, only=b"zarr.json")
    options = {**s3.through(faulty_s3.endpoint), **SHORT, "conditional": "trust"}
    for _ in range(8):
        z = omnizarr.create_array(s3.new(), data=[1, 2, 3], storage_options=options)
        assert z[...].tolist() == [1, 2, 3]
    assert faulty_s3.lost > 0


def test_a_conditional_write_without_an_answer_is_repeated_once(s3: RunningServer, faulty_s3: Proxy) -> None:
    url = s3.new()
    options = {**s3.through(faulty_s3.endpoint), **SHORT, "conditional": "trust"}
    store = ObjectStore.from_url(url, **options)
    assert store.updates is not None
    faulty_s3.faults = Faults(lose=1.0, lost_as=-1)
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(store.updates.write, "k", b"1", None)
        while not faulty_s3.lost:
            time.sleep(0.01)
        faulty_s3.faults = Faults()
        assert writing.result(30)
    assert store.updates.read("k")[0] == b"1"  # type: ignore[index]


def test_an_equal_value_of_another_writer_is_not_taken_for_ones_own(s3: RunningServer) -> None:
    url = s3.new()
    first, second = (ObjectStore.from_url(url, **s3.options).updates for _ in range(2))
    assert first is not None
    assert second is not None
    assert first.write("k", b"equal", None)
    assert not second.write("k", b"equal", None)
    version = (second.read("k") or (None, None))[1]
    assert first.write("k", b"next", version)
    assert not second.write("k", b"next", version)


Reading: TypeAlias = Callable[[ObjectStore], object]
READINGS: dict[str, Reading] = {
    "for an update": lambda store: None,
    "with a limit": lambda store: store.get_partial_values([("k", (0, 2**20))]),  # as documents are read
    "after many others": lambda store: store._reader._writes.clear(),
}


@pytest.mark.parametrize("reading", READINGS)
def test_a_write_is_recognized_after_other_writes(s3: RunningServer, reading: str) -> None:
    url = s3.new()
    store = ObjectStore.from_url(url, **s3.options)
    updates = store.updates
    assert updates is not None
    send = store._send

    def send_twice(key: str, value: Any, mode: Any, attributes: Any) -> Any:
        send(key, value, mode, attributes)
        for number in range(10):
            with ObjectStore.from_url(url, **s3.options) as other:
                assert other.updates is not None
                if reading != "with a limit":
                    other.updates.read(key)
                READINGS[reading](other)
                known = other.updates.last_known(key)
                assert known is not None
                assert other.updates.write(key, b"%d" % number, known[1])
        return send(key, value, mode, attributes)

    updates._put = send_twice  # type: ignore[attr-defined]
    assert updates.write("k", b"own", None)
    assert store.get("k") == b"9"


def test_a_write_to_an_outdated_version_fails_if_its_names_are_forgotten(s3: RunningServer) -> None:
    store = ObjectStore.from_url(s3.new(), **s3.options)
    assert store.updates is not None
    assert store.updates.write("k", b"1", None)
    version = (store.updates.read("k") or (None, None))[1]
    store.set("k", b"2")
    store._reader._writes.clear()
    assert not store.updates.write("k", b"3", version)
    assert store.get("k") == b"2"


def test_persistent_rejections_and_missing_etags_fail_after_few_requests(s3: RunningServer, faulty_s3: Proxy) -> None:
    url = s3.new()
    z = omnizarr.create_array(url, shape=4, dtype="u1", storage_options=s3.options)
    options = {**s3.through(faulty_s3.endpoint), **SHORT, "conditional": "trust"}
    for faults, message in (
        (Faults(status=412, only=b"PUT"), "although no other writer changed the value"),
        (Faults(status=404, only=b"PUT"), "although no other writer changed the value"),
        (Faults(no_tags=True), "sends no ETag"),
    ):
        own = omnizarr.open_array(url, storage_options=options)
        faulty_s3.faults = faults
        own.store._forget("zarr.json")  # type: ignore[attr-defined]
        faulty_s3.requests.clear()
        with pytest.raises(StoreError, match=message):
            own.attrs["a"] = 1
        assert len(faulty_s3.requests) < 60, "each attempt waits: more attempts would take minutes"
        faulty_s3.faults = Faults()
    assert z.refresh().attrs.asdict() == {}


def test_a_server_that_ignores_conditions_is_refused(s3: RunningServer, faulty_s3: Proxy) -> None:
    faulty_s3.faults = Faults(no_conditions=True)
    url, options = s3.new(), s3.through(faulty_s3.endpoint)
    with pytest.raises(StoreError, match="ignores the conditions") as caught:
        omnizarr.create_array(url, shape=4, dtype="u1", storage_options=options)
    assert 'conditional="off"' in str(caught.value)
    assert list(ObjectStore.from_url(url, **s3.options).list()) == [], "nothing is left"
    z = omnizarr.create_array(url, shape=4, dtype="u1", chunks=3, storage_options={**options, "conditional": "off"})
    z[1] = 7
    assert z.store.updates is None
    assert z.append([1]) == (5,)
    assert omnizarr.open_array(url, storage_options=s3.options)[...].tolist() == [0, 7, 0, 0, 1]
    assert omnizarr.create_array(s3.new(), shape=4, dtype="u1", storage_options={**options, "conditional": "trust"})


def test_a_server_is_checked_once(s3: RunningServer, faulty_s3: Proxy) -> None:
    url, options = s3.new(), s3.through(faulty_s3.endpoint)
    store = ObjectStore.from_url(url, **options)
    assert store.updates is not None
    assert store.updates.write("k", b"1", None)
    # The check takes three writes and an erasure.
    assert Counter(line.split()[0] for line in faulty_s3.requests) == {b"PUT": 4, b"POST": 1}
    faulty_s3.requests.clear()
    other = ObjectStore.from_url(url + "/below", **options)
    assert other.updates is not None
    assert other.updates.write("k", b"1", None)
    assert len(faulty_s3.requests) == 1
    assert list(store.list()) == ["below/k", "k"]


def test_a_wrong_choice_is_rejected(s3: RunningServer) -> None:
    with pytest.raises(LocationError, match='"verify", "trust" or "off"'):
        ObjectStore.from_url(s3.new(), **s3.options, conditional="maybe")


def test_names_of_writes_change_no_stored_bytes(s3: RunningServer, azure: RunningServer) -> None:
    for server in (s3, azure):
        store = ObjectStore.from_url(server.new(), **server.options)
        assert store.updates is not None
        for number in range(20):
            value = store.updates.read("k")
            assert value is not None
            assert store.updates.write("k", b"%d" % number, value[1])
        names, _ = store._reader.stored_writes("k")
        assert len(names) == len(set(names)) == 16
        assert store.get("k") == b"19"
        assert np.frombuffer(store.get("k", (0, 1)) or b"", "u1")[0] == ord("1")
