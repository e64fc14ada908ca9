"""Time limits: our own error at the limit, and no request that goes on after it."""

from __future__ import annotations

import pickle
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import numpy as np
import pytest
from obstore.store import HTTPStore
from obstore.store import MemoryStore as ObstoreMemory

import omnizarr
from omnizarr.errors import ArgumentError, TimedOutError
from omnizarr.store import ObjectStore
from omnizarr.store.deadline import current_deadline


class _SilentServer:
    """Accepts connections, reads requests and never answers. Counts the connections that are open."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=300)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.open = self.accepted = 0
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                with self._lock:
                    self.open += 1
                    self.accepted += 1
                threading.Thread(target=self._read, args=(connection,), daemon=True).start()

    def _read(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            while connection.recv(2**16):
                pass
        with self._lock:
            self.open -= 1

    def close(self) -> None:
        self._listener.close()

    def all_closed(self) -> bool:
        for _ in range(3000):
            if self.accepted and not self.open:
                return True
            time.sleep(0.01)
        return False


@pytest.fixture
def server() -> Iterator[_SilentServer]:
    server = _SilentServer()
    yield server
    server.close()


@pytest.mark.parametrize("client", ["our own", "obstore"])
def test_a_read_ends_at_the_limit_and_leaves_no_request(server: _SilentServer, client: str) -> None:
    store: ObjectStore
    if client == "our own":
        store = ObjectStore.from_url(server.url)
    else:
        store = ObjectStore(HTTPStore(server.url, client_options={"allow_http": True}))
    z = omnizarr.create_array(omnizarr.MemoryStore(), data=np.arange(100), chunks=5)
    document = z.store.get("zarr.json")
    assert document is not None
    remote = _with_document(store, bytes(document))
    reads = 0
    while reads < 2 or not server.accepted:  # a busy machine may not even connect within the limit
        reads += 1
        with pytest.raises(TimedOutError, match=r"time limit of 0\.2 s is over") as caught:
            remote.read(timeout=0.2)
        assert isinstance(caught.value, TimeoutError)
        assert pickle.loads(pickle.dumps(caught.value)).seconds == 0.2
    assert server.all_closed()
    with omnizarr.timeout(0.1), pytest.raises(TimedOutError):
        omnizarr.open_array(store)
    assert server.all_closed()


def _with_document(store: ObjectStore, document: bytes) -> omnizarr.Array:
    """A handle of an array whose chunks are in `store`, and whose document is already read."""
    from omnizarr.store.wrappers import TransparentStore

    class WithDocument(TransparentStore):
        def get_partial_values(self, requests):  # type: ignore[no-untyped-def]
            return [document if key == "zarr.json" else None for key, _ in requests]

    return omnizarr.open_array(WithDocument(store))


def test_nested_limits_end_at_the_nearest() -> None:
    with omnizarr.timeout(100), omnizarr.timeout(1000):
        deadline = current_deadline.get()
        assert deadline is not None
        assert deadline.seconds == 100
    with omnizarr.timeout(1000), omnizarr.timeout(100), omnizarr.timeout(None):
        deadline = current_deadline.get()
        assert deadline is not None
        assert deadline.seconds == 100
    assert current_deadline.get() is None


@pytest.mark.parametrize("seconds", [0, -1, True, "3", float("nan")])
def test_a_limit_is_a_number_of_seconds(seconds: object) -> None:
    z = omnizarr.create_array(None, shape=3, dtype="u1")
    with pytest.raises(ArgumentError, match="number of seconds above 0"):
        z.read(timeout=seconds)  # type: ignore[arg-type]


def test_no_limit_changes_nothing() -> None:
    z = omnizarr.create_array(ObjectStore(ObstoreMemory()), data=np.arange(40), chunks=3)
    with omnizarr.timeout(60):
        assert z[...].tolist() == list(range(40))
        z[...] = 7
    assert z.read(timeout=60).tolist() == [7] * 40
