"""URL schemes and their stores, including those of other packages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.registries import install, restoring

import omnizarr
from omnizarr.errors import ArgumentError, ExtensionError, LocationError
from omnizarr.store import LocalStore, MemoryStore
from omnizarr.store.address.schemes import scheme_of, store_at, stores


@pytest.fixture(autouse=True)
def _restore_registry() -> Iterator[None]:
    with restoring(stores):
        yield


class Bucket(MemoryStore):
    """A store whose constructor takes the URL."""

    def __init__(self, url: str, *, region: str = "here") -> None:
        super().__init__(name=f"{url} in {region}")


class Vault(MemoryStore):
    """A store with a class method that takes the URL."""

    @classmethod
    def from_url(cls, url: str, **options: Any) -> Vault:
        return cls(name=f"{url} {sorted(options)}")


@pytest.mark.parametrize(
    ("text", "scheme"),
    [
        ("file:///x", "file"),
        ("FILE:///x", "file"),
        ("git+ssh://x", "git+ssh"),
        ("C://x", None),
        ("data/a://b", None),
        ("x.zarr", None),
        ("1a://x", None),
        ("", None),
    ],
)
def test_the_scheme_of_a_url(text: str, scheme: str | None) -> None:
    assert scheme_of(text) == scheme


def test_built_in_schemes(tmp_path: Path) -> None:
    assert store_at(tmp_path.as_uri(), "file", {}) == LocalStore(tmp_path)
    assert store_at("memory://of-schemes", "memory", {}) is store_at("memory://of-schemes", "memory", {})
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    assert isinstance(
        omnizarr.open_group(tmp_path.as_uri(), storage_options={"follow_symlinks": True}).store, LocalStore
    )


def test_classes_and_functions_are_called_with_the_url() -> None:
    omnizarr.register_store("bucket", Bucket)
    omnizarr.register_store("vault", Vault)

    @omnizarr.register_store("shed")
    def shed(url: str) -> MemoryStore:
        return MemoryStore(name=url)

    assert shed("x") is not None
    assert store_at("bucket://a", "bucket", {}).location.endswith("bucket://a in here")
    assert store_at("bucket://a", "bucket", {"region": "there"}).location.endswith("bucket://a in there")
    assert "['one', 'two']" in store_at("vault://a", "vault", {"two": 2, "one": 1}).location
    z = omnizarr.create_array("shed://garden", data=[1, 2, 3])
    assert z[...].tolist() == [1, 2, 3]


def test_unknown_options_are_rejected_before_the_call() -> None:
    omnizarr.register_store("bucket", Bucket)
    with pytest.raises(LocationError, match="`bucket://` does not take these `storage_options`: colour, region"):
        omnizarr.open_group("bucket://a", storage_options={"region": "x", "colour": "red"})


def test_errors_of_openers_become_location_errors() -> None:
    @omnizarr.register_store("shed")
    def shed(url: str) -> MemoryStore:
        raise RuntimeError("the shed is locked")

    omnizarr.register_store("box", lambda url: "a box")
    with pytest.raises(LocationError, match="`shed://` address: RuntimeError: the shed is locked") as caught:
        omnizarr.open("shed://name:secret@garden")
    assert "secret" not in str(caught.value)
    with pytest.raises(LocationError, match="returned a str, expected a store"):
        omnizarr.open("box://x")


def test_the_error_for_an_unknown_scheme_lists_the_known_ones() -> None:
    known = "no store is registered for `moon://`; known are .*`file://` .*`memory://`"
    with pytest.raises(LocationError, match=known):
        omnizarr.open("moon://bucket")
    with pytest.raises(LocationError, match="did you mean `memory`"):
        omnizarr.open("memry://x")


@pytest.mark.parametrize("scheme", ["", "x", "S3", "a b", "1a", "s3://", 3])
def test_invalid_schemes_cannot_be_registered(scheme: Any) -> None:
    with pytest.raises(ArgumentError, match="no scheme"):
        omnizarr.register_store(scheme, Bucket)


@pytest.mark.parametrize("store", [3, MemoryStore, "text", dict, MemoryStore()])
def test_only_stores_can_be_registered(store: Any) -> None:
    if store is MemoryStore:
        with pytest.raises(ArgumentError, match="registered already"):
            omnizarr.register_store("file", store)
    else:
        with pytest.raises(ArgumentError, match="cannot be registered"):
            omnizarr.register_store("mine", store)


def test_a_package_registers_a_scheme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    text = """
from omnizarr.store import MemoryStore

class Shelf(MemoryStore):
    def __init__(self, url):
        super().__init__(name=url)
"""
    points = {"shelf": "a_shelf:Shelf", "plank": "a_shelf:Plank"}
    install(tmp_path, "shelf-package", {"omnizarr.stores": points}, {"a_shelf": text})
    assert omnizarr.open_group("shelf://x").store.location.endswith("shelf://x")
    with pytest.raises(ExtensionError, match=r"store `plank` .* `omnizarr.stores: plank = a_shelf:Plank`"):
        omnizarr.open_group("plank://x")
