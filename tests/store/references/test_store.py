"""ReferenceStore: documents of kerchunk, allowed targets, and malicious documents and templates."""

from __future__ import annotations

import base64
import json
import os
import pickle
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.registries import restoring

import omnizarr
from omnizarr.errors import ArgumentError, MetadataError, OmnizarrError, ReadOnlyError, StoreError
from omnizarr.store import LocalStore, MemoryStore, PrefixStore, ReferenceStore, Store
from omnizarr.store.address.parse import locate
from omnizarr.store.address.schemes import stores
from omnizarr.store.references.templates import filled
from omnizarr.testing import RecordingStore, StoreSuite

# -- the store suite (reading)


def _write_references(folder: Path, contents: Mapping[str, bytes]) -> ReferenceStore:
    """Write the values to one file, and references to its parts to another."""
    references = {}
    with open(folder / "data.bin", "wb") as file:
        file.write(b"header")
        for key, value in contents.items():
            references[key] = ["data.bin", file.tell(), len(value)]
            file.write(value)
    path = folder / "refs.json"
    path.write_text(json.dumps({"version": 1, "refs": references}))
    return ReferenceStore(path)


class TestReferences(StoreSuite):
    folder: Path

    def make_store(self, tmp_path: Path) -> ReferenceStore:
        self.folder = tmp_path
        return _write_references(tmp_path, {})

    def fill(self, store: Store, contents: Mapping[str, bytes]) -> Store:
        return _write_references(self.folder, contents)


class TestInline(StoreSuite):
    def make_store(self, tmp_path: Path) -> ReferenceStore:
        return ReferenceStore({})

    pickled_is_equal = False

    def fill(self, store: Store, contents: Mapping[str, bytes]) -> Store:
        return ReferenceStore({key: "base64:" + base64.b64encode(value).decode() for key, value in contents.items()})


# -- documents


DATA = bytes(range(256)) * 4


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "x.bin").write_bytes(DATA)
    return tmp_path


def _store(folder: Path, document: Any, **options: Any) -> ReferenceStore:
    (folder / "refs.json").write_text(json.dumps(document))
    return ReferenceStore(folder / "refs.json", **options)


def test_version_0(folder: Path) -> None:
    document = {
        "whole": ["x.bin"],
        "part": ["x.bin", 10, 20],
        "text": "ä{{u}}",
        "data": "base64:AAEC",
        ".zgroup": {"zarr_format": 2},
    }
    store = _store(folder, document)
    assert store.get("whole") == DATA
    assert store.get("part") == DATA[10:30]
    assert store.get("part", (5, 5)) == DATA[15:20]
    assert store.get("part", (-3, None)) == DATA[27:30]
    assert store.get("whole", (-3, None)) == DATA[-3:]
    assert store.get("text") == "ä{{u}}".encode()
    assert store.get("data") == b"\0\1\2"
    assert json.loads(bytes(store.get(".zgroup") or b"")) == {"zarr_format": 2}
    assert [store.size(key) for key in document] == [len(DATA), 20, 7, 3, len(bytes(store.get(".zgroup") or b""))]
    assert store.get_partial_values([("part", None), ("absent", None), ("data", (1, 1)), ("whole", (0, 2))]) == [
        DATA[10:30],
        None,
        b"\1",
        DATA[:2],
    ]
    with pytest.raises(ReadOnlyError):
        store.set("a", b"")


def test_version_1_with_templates_and_generators(folder: Path) -> None:
    (folder / "x_0.bin").write_bytes(b"0" * 5000)
    (folder / "x_1.bin").write_bytes(b"1" * 5000)
    document = {
        "version": 1,
        "templates": {"u": "x", "f": "{{c}}_{{n}}", "ext": "bin"},
        "gen": [
            {
                "key": "gen/{{i}}.{{j}}",
                "url": "{{u}}_{{i}}.bin",
                "offset": "{{(j + 1) * 1000}}",
                "length": "10",
                "dimensions": {"i": {"stop": 2}, "j": {"start": 0, "stop": 4, "step": 2}},
            },
            {"key": "named/{{name}}", "url": "{{ u }}_{{ '%d' % n }}.{{ext}}", "dimensions": {"name": ["a"], "n": [1]}},
        ],
        "refs": {
            "key0": "{{not}} filled",
            "key1": ["x.bin", 1, 2],
            "key2": ["{{u}}.bin", 1, 2],
            "key3": ["{{f(c='x', n=1)}}.{{ext}}", 0, 3],
        },
    }
    store = _store(folder, document)
    generated = ["gen/0.0", "gen/0.2", "gen/1.0", "gen/1.2", "named/a"]
    assert sorted(store.list()) == sorted([*generated, "key0", "key1", "key2", "key3"])
    assert store.get("gen/1.2") == b"1" * 10
    assert store.get("key0") == b"{{not}} filled"
    assert store.get("key2") == DATA[1:3]
    assert store.get("key3") == b"111"
    assert store.size("named/a") == 5000
    assert store._reference("gen/0.2") == ("x_0.bin", 3000, 10)


MALICIOUS_TEMPLATES = [
    "{{ ''.__class__ }}",
    "{{ u.__class__ }}",
    "{{ f.__globals__ }}",
    "{{ open('x') }}",
    "{{ f(**{}) }}",
    "{{ f('x') }}",
    "{{ (lambda: 1)() }}",
    "{{ [x for x in 'a'] }}",
    "{{ 9 ** 9 ** 9 }}",
    "{{ 'x' * 99999999 }}",
    "{{ 99999999999 * 99999999999 }}",
    "{{ 1 << 99999 }}",
    "{{ 1 // 0 }}",
    "{{ 1 / 2 }}",
    "{{ '%s' % 1 }}",
    "{{ '%9999999999d' % 1 }}",
    "{{ '%99d%99d' % 1 }}",
    "{{ undefined }}",
    "{{ }}",
    "{{ 'x }}",
    "{{ " + "(" * 150 + ")" * 40 + " }}",
    "{{ " + "1+" * 500 + "1 }}",
    "{% for i in range(9) %}{% endfor %}",
    "{# x #}",
    "{{ loop }}",
    "{{ 1 if 1 else 2 }}",
    "{{ True }}",
    "{{ 1.5 }}",
    "{{ u|upper }}",
]


@pytest.mark.parametrize("text", MALICIOUS_TEMPLATES)
def test_malicious_templates_are_rejected(folder: Path, text: str) -> None:
    templates = {"u": "x", "f": "{{c}}", "loop": "{{loop}}"}
    for document in (
        {"version": 1, "templates": templates, "refs": {"a": [text]}},
        {"version": 1, "templates": templates, "gen": [{"key": text, "url": "x", "dimensions": {"i": [1]}}]},
    ):
        with pytest.raises(MetadataError, match="cannot fill in"):
            _store(folder, document).get("a")


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="{}()ui1+-*/%'\"=., [];:_x\\@\n", max_size=30))
def test_random_templates_are_filled_or_rejected(text: str) -> None:
    try:
        filled("{{" + text + "}}", {"i": 1}, {"u": "x{{i}}"}, "here")
    except MetadataError:
        pass


@pytest.mark.parametrize(
    "document",
    [
        [],
        3,
        {"version": 2, "refs": {}},
        {"version": True, "refs": {}},
        {"version": 1, "refs": []},
        {"version": 1, "templates": {"a": 1}, "refs": {}},
        {"version": 1, "gen": {}, "refs": {}},
        {"version": 1, "gen": [3]},
        {"version": 1, "gen": [{"key": "a", "url": "b"}]},
        {"version": 1, "gen": [{"key": "{{i}}", "url": "b", "dimensions": {"i": {"stop": 10**12}}}]},
        {"version": 1, "gen": [{"key": "{{i}}", "url": "b", "dimensions": {"i": {"stop": 2**80}}}]},
        {"version": 1, "gen": [{"key": "{{i}}", "url": "b", "dimensions": {"i": {"stop": 5, "step": 0}}}]},
        {"version": 1, "gen": [{"key": "{{i}}", "url": "b", "dimensions": {"i": {"stop": 2000}, "j": {"stop": 9000}}}]},
        {"version": 1, "gen": [{"key": "a", "url": "b", "offset": "{{i}}", "length": "x", "dimensions": {"i": [1]}}]},
        {"version": 1, "gen": [{"key": "a", "url": "b", "offset": "{{0-i}}", "length": "1", "dimensions": {"i": [1]}}]},
        {"../a": "x"},
        {"/a": "x"},
        {"": "x"},
        {"a": "base64:???"},
        {"a": 3},
        {"a": None},
        {"a": ["x.bin", 1]},
        {"a": ["x.bin", -1, 5]},
        {"a": ["x.bin", 1, 2.5]},
        {"a": ["x.bin", 1, True]},
        {"a": ["x.bin", 2**70, 1]},
        {"a": [3]},
        {"a": [""]},
        {"zarr_format": 3, "node_type": "group"},
    ],
)
def test_invalid_documents_are_rejected(folder: Path, document: Any) -> None:
    with pytest.raises(MetadataError):
        _store(folder, document).get("a")
    with pytest.raises(OmnizarrError):
        omnizarr.open(folder / "refs.json")


def test_documents_that_are_not_json_absent_or_too_large(folder: Path) -> None:
    (folder / "refs.json").write_bytes(b"\xff\xfe{")
    with pytest.raises(MetadataError):
        ReferenceStore(folder / "refs.json").get("a")
    with pytest.raises(StoreError, match="no references found"):
        ReferenceStore(folder / "absent.json").get("a")
    (folder / "refs.json").write_text('{"a": "%s"}' % ("x" * 10_000))
    with omnizarr.config(max_document_bytes=1000), pytest.raises(MetadataError, match="limit"):
        ReferenceStore(folder / "refs.json").get("a")


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
    store = _store(folder, {f"k{number}": [target, 0, 4] for number, target in enumerate(allowed)})
    assert [store.get(key) for key in sorted(store.list())] == [DATA[:4]] * 3
    assert _store(folder, {"k": ["below/y.bin"]}).get("k") == b"y"
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
        store = _store(folder, {"k": [target, 0, 4]})
        with pytest.raises(StoreError) as caught:
            store.get("k")
        assert "secret" not in str(caught.value).replace("secret.txt", "").replace("//secret", "")
        with pytest.raises(StoreError):
            store.get_partial_values([("k", (0, 1))])
    with pytest.raises(StoreError, match="neither beside it nor in an allowed location"):
        ReferenceStore({"k": ["x.bin"]}).get("k")


def test_allowed_locations(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    (other / "y.bin").write_bytes(b"12345")
    (other / "z.bin").write_bytes(b"12345")
    document = {"y": [str(other / "y.bin"), 1, 2], "z": [(other / "z.bin").as_uri(), 1, 2]}
    for allow in ([other], [str(other)], [other.as_uri()], [f"{other}/"], [other / "y.bin", other / "z.bin"]):
        store = _store(folder, document, allow=allow)
        assert [store.get(key) for key in "yz"] == [b"23", b"23"]
    store = _store(folder, document, allow=[other / "y.bin"])
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
    store = _store(folder, {"short": ["x.bin", 1000, 100], "gone": ["y.bin", 0, 1], "end": ["x.bin", 1024, 0]})
    with pytest.raises(StoreError, match=r"`short` in ReferenceStore.* is too short"):
        store.get("short")
    with pytest.raises(StoreError, match=r"`y.bin`, which does not exist"):
        store.get("gone")
    with pytest.raises(StoreError, match="too short"):
        store.get_partial_values([("short", None)])
    assert store.get("end") == b""


# -- arrays


@pytest.mark.smoke
def test_an_array_in_another_file(tmp_path: Path) -> None:
    data = np.arange(60, dtype="<i4").reshape(6, 10)
    (tmp_path / "model.out").write_bytes(b"#" * 13 + data.tobytes())
    zarray = {
        "zarr_format": 2,
        "shape": [6, 10],
        "chunks": [2, 10],
        "dtype": "<i4",
        "order": "C",
        "compressor": None,
        "filters": None,
        "fill_value": 0,
    }
    references = {
        ".zgroup": '{"zarr_format": 2}',
        "t/.zarray": json.dumps(zarray),
        "t/.zattrs": '{"units": "K"}',
        **{f"t/{number}.0": ["model.out", 13 + number * 80, 80] for number in range(3)},
    }
    (tmp_path / "refs.json").write_text(json.dumps(references))
    for address in ("refs.json", "refs.json/", "|", "reference::refs.json"):
        path = f"{tmp_path}/refs.json|reference:" if address == "|" else f"{tmp_path}/{address}"
        if address.startswith("reference::"):
            path = f"reference::{tmp_path}/refs.json"
        group = omnizarr.open_group(path, mode="r")
        assert np.array_equal(group["t"][...], data)  # type: ignore[index]
        assert group["t"].attrs["units"] == "K"
    assert omnizarr.open_array(f"{tmp_path}/refs.json/t")[5, 9] == 59
    with pytest.raises(ReadOnlyError):
        omnizarr.open_array(f"{tmp_path}/refs.json/t", mode="r+")
    with omnizarr.ZipStore(tmp_path / "all.zip") as archive:  # the references and the file in one archive
        for name in ("refs.json", "model.out"):
            archive.set(name, (tmp_path / name).read_bytes())
    assert omnizarr.open_array(f"reference://t::zip://refs.json::{tmp_path}/all.zip")[5, 9] == 59


# -- parquet


def _parquet(folder: Path, name: str, rows: list[tuple[Any, int, int, Any]], **schema: Any) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    columns = {"path": pyarrow.string(), "offset": pyarrow.int64(), "size": pyarrow.int64(), "raw": pyarrow.binary()}
    table = {
        column: pyarrow.array([row[position] for row in rows], schema.get(column, kind))
        for position, (column, kind) in enumerate(columns.items())
        if schema.get(column, kind) is not None
    }
    parquet.write_table(pyarrow.table(table), folder / name)


def _array(shape: list[int], chunks: list[int]) -> dict[str, Any]:
    return {
        "zarr_format": 2,
        "shape": shape,
        "chunks": chunks,
        "dtype": "|u1",
        "order": "C",
        "compressor": None,
        "filters": None,
        "fill_value": 7,
    }


@pytest.fixture
def parquet_folder(folder: Path) -> Path:
    references = folder / "refs.parq"
    metadata = {
        ".zgroup": {"zarr_format": 2},
        "t/.zarray": _array([4, 6], [2, 2]),
        "t/.zattrs": {"a": 1},
        "s/.zarray": _array([], []),
        "deep/er/.zarray": _array([4], [2]),
    }
    references.mkdir()
    (references / ".zmetadata").write_text(json.dumps({"metadata": metadata, "record_size": 4}))
    target = str(folder / "x.bin")
    _parquet(references, "t/refs.0.parq", [(target, 4 * n, 4, None) for n in range(4)])
    _parquet(references, "t/refs.1.parq", [(None, 0, 0, b"abcd"), (None, 0, 0, None)])
    _parquet(references, "s/refs.0.parq", [(None, 0, 0, b"z")])
    _parquet(references, "deep/er/refs.0.parq", [(target, 1000, 2, None), (str(folder / "two.bin"), 0, 0, None)])
    (folder / "two.bin").write_bytes(b"22")
    return references


def test_parquet(parquet_folder: Path) -> None:
    group = omnizarr.open_group(parquet_folder, mode="r")
    expected = np.full((4, 6), 7, "u1")
    expected[:2, :2] = np.frombuffer(DATA[0:4], "u1").reshape(2, 2)
    expected[:2, 2:4] = np.frombuffer(DATA[4:8], "u1").reshape(2, 2)
    expected[:2, 4:] = np.frombuffer(DATA[8:12], "u1").reshape(2, 2)
    expected[2:, :2] = np.frombuffer(DATA[12:16], "u1").reshape(2, 2)
    expected[2:, 2:4] = np.frombuffer(b"abcd", "u1").reshape(2, 2)
    assert np.array_equal(group["t"][...], expected)  # type: ignore[index]
    assert group["s"][()] == ord("z")  # type: ignore[index]
    assert bytes(group["deep/er"][...]) == DATA[1000:1002] + b"22"  # type: ignore[index]
    store = ReferenceStore(parquet_folder)
    below = ["t/.zarray", "t/.zattrs", "t/0.0", "t/0.1", "t/0.2", "t/1.0", "t/1.1"]
    others = [".zgroup", ".zmetadata", "deep/er/.zarray", "deep/er/0", "deep/er/1", "s/.zarray", "s/0"]
    assert sorted(store.list_prefix("t/")) == below
    assert sorted(store.list()) == [*others, *below]
    assert store.list_dir("") == ([".zgroup", ".zmetadata"], ["deep/", "s/", "t/"])
    assert store.list_dir("deep/er/") == (["deep/er/.zarray", "deep/er/0", "deep/er/1"], [])
    for absent in ("t/1.2", "t/2.0", "t/0", "t/0.0.0", "t/00.0", "t/x.y", "s/1", "t/-1.0", "q/0"):
        assert store.get(absent) is None
    assert omnizarr.open_array(f"reference://t::{parquet_folder}", mode="r")[0, 0] == 0


def test_parquet_files_are_read_once(parquet_folder: Path) -> None:
    inner = RecordingStore(LocalStore(parquet_folder.parent))
    store = ReferenceStore.inside(inner, "refs.parq", allow=[parquet_folder.parent])
    for _ in range(2):
        for key in ("t/0.0", "t/0.1", "t/1.0"):
            assert store.get(key) is not None
    assert [call.key for call in inner.of("get")] == ["refs.parq", "refs.parq/.zmetadata", "refs.parq/t/refs.0.parq"]


def test_the_listing_of_a_huge_array_follows_its_parquet_files(parquet_folder: Path) -> None:
    metadata = {"t/.zarray": _array([2**40], [1]), ".zgroup": {"zarr_format": 2}}
    (parquet_folder / ".zmetadata").write_text(json.dumps({"metadata": metadata, "record_size": 4}))
    store = ReferenceStore(parquet_folder)
    assert len(list(store.list_prefix("t/"))) == 1 + 5
    assert store.get("t/999999999") is None


@pytest.mark.parametrize(
    "document",
    [
        {},
        [],
        {"metadata": {}},
        {"metadata": {}, "record_size": 0},
        {"metadata": {}, "record_size": 2**40},
        {"metadata": {"../x": {}}, "record_size": 1},
        {"metadata": {"t/.zarray": {"shape": [1]}}, "record_size": 1},
        {"metadata": {"t/.zarray": {"shape": [1], "chunks": [0]}}, "record_size": 1},
        {"metadata": {"t/.zarray": {"shape": [2**62], "chunks": [1]}}, "record_size": 1},
        {"metadata": {"t/.zarray": "nonsense"}, "record_size": 1},
    ],
)
def test_invalid_parquet_folders_are_rejected(tmp_path: Path, document: Any) -> None:
    (tmp_path / "x.parq").mkdir()
    (tmp_path / "x.parq" / ".zmetadata").write_text(json.dumps(document))
    with pytest.raises(MetadataError):
        ReferenceStore(tmp_path / "x.parq").get("t/0")


def test_invalid_parquet_rows_are_rejected(parquet_folder: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    store = ReferenceStore(parquet_folder)
    _parquet(parquet_folder, "t/refs.0.parq", [("x", 0, 1, None)] * 5)
    with pytest.raises(MetadataError, match="5 rows"):
        store.get("t/0.0")
    _parquet(parquet_folder, "t/refs.0.parq", [("x", -1, 1, None)])
    with pytest.raises(MetadataError, match="expected a path"):
        store.get("t/0.0")
    _parquet(parquet_folder, "t/refs.0.parq", [("/etc/passwd", 0, 1, None)])
    with pytest.raises(StoreError, match="allowed"):
        store.get("t/0.0")
    _parquet(parquet_folder, "t/refs.0.parq", [(5, 0, 1, None)], path=pyarrow.int64())
    with pytest.raises(MetadataError):
        ReferenceStore(parquet_folder).get("t/0.0")
    (parquet_folder / "t" / "refs.0.parq").write_bytes(b"PAR1" + os.urandom(100) + b"PAR1")
    with pytest.raises(StoreError, match="not a parquet file"):
        ReferenceStore(parquet_folder).get("t/0.0")


# -- references written by kerchunk


KERCHUNK = Path(__file__).parents[2] / "corpora" / "references" / "kerchunk-0.2.10"


@pytest.mark.parametrize("name", ["version0.json", "version1.json", "refs.parq"])
def test_references_written_by_kerchunk(name: str) -> None:
    group = omnizarr.open_group(KERCHUNK / name, mode="r")
    assert group.attrs["title"] == "a small model"
    assert sorted(group) == ["deep", "scalar", "temperature"]
    expected = np.random.default_rng(0).integers(0, 1000, (10, 12)).astype("<i2")
    assert np.array_equal(group["temperature"][...], expected)  # type: ignore[index]
    assert np.array_equal(group["deep/plain"][...], np.arange(20))  # type: ignore[index]
    assert group["scalar"][()] == 2.5  # type: ignore[index]
    assert group["temperature"].attrs["units"] == "K"
