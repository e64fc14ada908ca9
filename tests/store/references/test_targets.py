"""Which targets a reference document may name: files in its folder, allowed locations, buckets."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.registries import restoring
from tests.store.references.reference_files import DATA, reference_store

from omnizarr.errors import ArgumentError, StoreError
from omnizarr.store import LocalStore, MemoryStore, PrefixStore, ReferenceStore, Store
from omnizarr.store.address.parse import locate
from omnizarr.store.address.schemes import stores
from omnizarr.testing import RecordingStore

# -- targets


def test_only_files_in_the_folder_of_the_references_are_read(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("other")
    secret = other / "secret.txt"
    secret.write_text("secret")
    (folder / "link.bin").symlink_to(secret)
    (folder / "linked").symlink_to(other)
    (folder / "below").mkdir()
    (folder / "below" / "y.bin").write_bytes(b"y")
    allowed = ["x.bin", str(folder / "x.bin"), (folder / "x.bin").as_uri()]
    store = reference_store(folder, {f"k{number}": [target, 0, 4] for number, target in enumerate(allowed)})
    assert [store.get(key) for key in sorted(store.list())] == [DATA[:4]] * 3
    assert reference_store(folder, {"k": ["below/y.bin"]}).get("k") == b"y"
    forbidden = [
        str(secret),
        secret.as_uri(),
        "../other0/secret.txt",
        f"../{other.name}/secret.txt",
        f"{folder}/../{other.name}/secret.txt",
        f"file://{folder}/../{other.name}/secret.txt",
        "/etc/passwd",
        "file:///etc/passwd",
        "file:/etc/passwd",
        "link.bin",
        "linked/secret.txt",
        "~/x",
        "memory://secret/x",
        "s3://bucket/x",
        "https://example.org/x",
        "zip::x.bin",
        "simplecache::s3://b/x",
        "C:/Windows/x",
        "x.bin\0",
        "./x.bin",
        f"{folder}x.bin",
    ]
    for target in forbidden:
        store = reference_store(folder, {"k": [target, 0, 4]})
        with pytest.raises(StoreError) as caught:
            store.get("k")
        assert "secret" not in str(caught.value).replace("secret.txt", "").replace("//secret", "")
        with pytest.raises(StoreError):
            store.get_partial_values([("k", (0, 1))])
    with pytest.raises(StoreError, match="neither in its folder nor in an allowed location"):
        ReferenceStore({"k": ["x.bin"]}).get("k")


def test_allowed_locations(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    (other / "y.bin").write_bytes(b"12345")
    (other / "z.bin").write_bytes(b"12345")
    document = {"y": [str(other / "y.bin"), 1, 2], "z": [(other / "z.bin").as_uri(), 1, 2]}
    for allow in ([other], [str(other)], [other.as_uri()], [f"{other}/"], [other / "y.bin", other / "z.bin"]):
        store = reference_store(folder, document, allow=allow)
        assert [store.get(key) for key in "yz"] == [b"23", b"23"]
    store = reference_store(folder, document, allow=[other / "y.bin"])
    assert store.get("y") == b"23"
    with pytest.raises(StoreError, match="allowed"):
        store.get("z")
    assert ReferenceStore(document, allow=[other]).get("y") == b"23"
    with pytest.raises(ArgumentError, match="list"):
        ReferenceStore(document, allow=str(other))
    opened = locate(str(folder / "refs.json"), {"allow": [str(other)]}).store
    assert opened.get("y") == b"23"
    assert opened == pickle.loads(pickle.dumps(opened))
    assert opened != ReferenceStore(folder / "refs.json")


class Bucket(RecordingStore):
    """A store whose location is a URL."""

    @property
    def location(self) -> str:
        return "far://bucket"


@pytest.fixture
def remote() -> Iterator[RecordingStore]:
    """A store that URLs of the scheme `far` open."""
    bucket = Bucket(MemoryStore({"a/x.nc": DATA, "a/y.nc": DATA, "b/x.nc": b"", "refs.json": b""}))
    with restoring(stores):
        given: list[dict[str, Any]] = []

        def open_store(url: str, **options: Any) -> Store:
            given.append(options)
            return bucket if url == "far://bucket" else PrefixStore(bucket, url.removeprefix("far://bucket/"))

        stores.register("far", open_store)
        bucket.given = given  # type: ignore[attr-defined]
        yield bucket


def test_remote_targets(remote: RecordingStore) -> None:
    document = {"x": ["far://bucket/a/x.nc", 5, 5], "y": ["far://bucket/a/y.nc", 0, 3], "z": ["far://bucket/b/x.nc"]}
    for allow in (["far://bucket/a"], ["far://bucket/a/"], ["far://bucket/a/x.nc", "far://bucket/a/y.nc"]):
        store = ReferenceStore(document, allow=allow, target_options={"token": "t"})
        assert store.get("x") == DATA[5:10]
        remote.reset()
        assert store.get_partial_values([("x", None), ("y", (1, None))]) == [DATA[5:10], DATA[1:3]]
        assert [(call.method, call.requests) for call in remote.calls] == [("get_each", 2)]
        with pytest.raises(StoreError, match="allowed"):
            store.get("z")
    assert remote.given[-1] == {"token": "t"}  # type: ignore[attr-defined]
    by_scheme = ReferenceStore(document, allow=["far://bucket"], target_options={"far": {"token": "u"}})
    assert by_scheme.get("z") == b""
    assert remote.given[-1] == {"token": "u"}  # type: ignore[attr-defined]
    for target in ("far://bucket/a/../b/x.nc", "far://bucket/ab/x.nc", "far://bucket2/a/x.nc", "far://bucket/a//x.nc"):
        with pytest.raises(StoreError, match="allowed"):
            ReferenceStore({"k": [target]}, allow=["far://bucket/a"]).get("k")
    with pytest.raises(StoreError) as caught:
        ReferenceStore({"k": ["far://user:password@bucket/x?signature=abc"]}).get("k")
    assert "password" not in str(caught.value)
    assert "abc" not in str(caught.value)


def test_references_in_a_bucket_may_use_the_folder_that_contains_them(remote: RecordingStore) -> None:
    document = {"x": ["far://bucket/a/x.nc", 5, 5], "y": ["y.nc", 0, 3], "z": ["far://bucket/b/x.nc"]}
    remote.inner.set("a/refs.json", json.dumps(document).encode())
    for store in (
        ReferenceStore("far://bucket/a/refs.json", storage_options={"token": "t"}),
        locate("far://bucket/a/refs.json").store,
    ):
        assert store.get("x") == DATA[5:10]
        assert store.get("y") == DATA[:3]
        with pytest.raises(StoreError, match="allowed"):
            store.get("z")


def test_pickles_do_not_contain_credentials_of_targets_in_plain_text() -> None:
    for allow, options in (
        (["s3://bucket"], {"secret_access_key": "hunter-2"}),
        (["s3://bucket"], {"s3": {"access_key_id": "x", "secret_access_key": "hunter-2"}}),
        (["https://me:hunter-2@server/x"], {}),
    ):
        store = ReferenceStore({"a": "b"}, allow=allow, target_options=options)
        pickled = pickle.dumps(store)
        assert b"hunter-2" not in pickled
        unpickled = pickle.loads(pickled)
        assert (unpickled._targets.allowed, unpickled._target_options) == (tuple(allow), options)


def test_files_in_the_same_store_but_another_folder_are_not_allowed(folder: Path) -> None:
    (folder / "deep").mkdir()
    (folder / "deep" / "y.bin").write_bytes(b"y")
    targets = ["y.bin", str(folder / "deep" / "y.bin"), str(folder / "x.bin"), "../x.bin"]
    document = {str(number): [target] for number, target in enumerate(targets)}
    (folder / "deep" / "refs.json").write_text(json.dumps(document))
    store = ReferenceStore.inside(LocalStore(folder), "deep/refs.json")
    assert store.get("0") == store.get("1") == b"y"
    for key in ("2", "3"):
        with pytest.raises(StoreError, match="allowed"):
            store.get(key)


def test_missing_and_truncated_targets(folder: Path) -> None:
    store = reference_store(folder, {"short": ["x.bin", 1000, 100], "gone": ["y.bin", 0, 1], "end": ["x.bin", 1024, 0]})
    with pytest.raises(StoreError, match=r"`short` in ReferenceStore.* is too short"):
        store.get("short")
    with pytest.raises(StoreError, match=r"`y.bin`, which does not exist"):
        store.get("gone")
    with pytest.raises(StoreError, match="too short"):
        store.get_partial_values([("short", None)])
    assert store.get("end") == b""
