"""Entry points, keys and operations on hierarchies of both drafts (S1–S12, S30, S38–S49, T1–T5, T14–T24)."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.formats.draft.documents import (
    CORE_2020,
    CORE_2022,
    array,
    entry,
    keys,
    problem_paths,
    store_of,
    warning_paths,
)

import omnizarr
from omnizarr import MemoryStore
from omnizarr.errors import (
    ArgumentError,
    MetadataError,
    NodeExistsError,
    NodeNotFoundError,
    NodeTypeError,
    OmnizarrError,
    OmnizarrWarning,
)
from omnizarr.formats import dialect_for
from omnizarr.formats.document_encoding import Encoding, metadata_encodings
from omnizarr.formats.draft.extensions import extensions as known_extensions
from omnizarr.testing import RecordingStore

DRAFTS: Any = ["3-draft-2020", "3-draft-2022"]
both = pytest.mark.parametrize("draft", DRAFTS)
YEARS: dict[str, Any] = {"3-draft-2020": 2020, "3-draft-2022": 2022}


def hierarchy(draft: Any) -> omnizarr.Group:
    """A hierarchy with the group `/foo/bar` and the array `/foo/baz/qux`; the groups between are implicit."""
    root = omnizarr.create_group(MemoryStore(), zarr_format=draft)
    root.create_group("foo/bar", attributes={"a": 1})
    root.create_array("foo/baz/qux", data=np.arange(6, dtype="i4"), chunks=4)
    return root


def problems(document: Any) -> list[str]:
    with pytest.raises(MetadataError) as caught:
        omnizarr.open(store_of({"zarr.json": document}))
    return [problem.path for problem in caught.value.problems]


# -- names and paths


@both
def test_S1_arrays_have_no_children(draft: Any) -> None:
    root = hierarchy(draft)
    with pytest.raises(NodeTypeError, match="array"):
        root.create_array("foo/baz/qux/below", shape=1, dtype="i4")
    with pytest.raises(NodeExistsError):
        root.create_group("foo/baz/qux")


@both
def test_S1_S3_T17_siblings_have_different_case_sensitive_names(draft: Any) -> None:
    root = omnizarr.create_group(MemoryStore(), zarr_format=draft)
    root.create_group("a")
    root.create_group("A")
    with pytest.raises(NodeExistsError):
        root.create_array("a", shape=1, dtype="i4")
    assert list(root) == ["A", "a"]
    assert (root.basename, root["a"].basename) == ("", "a")


@both
def test_S2_A14_paths_have_one_normal_form(draft: Any) -> None:
    root = hierarchy(draft)
    for spelled in ("foo/bar", "/foo/bar", "foo//bar", "/foo/bar/"):
        assert root[spelled].path == "foo/bar"
        assert omnizarr.open_group(root.store, path=spelled).path == "foo/bar"
    assert (root.name, root["foo/bar"].name) == ("/", "/foo/bar")


@both
@pytest.mark.parametrize("name", ["a b", "ü", "a+b", ".", "..", "...", "a/.../b", "é/x"])
def test_S3_T17_invalid_names(draft: Any, name: str) -> None:
    store = MemoryStore()
    with pytest.raises(ArgumentError):
        omnizarr.create_group(store, path=name, zarr_format=draft)
    assert keys(store) == []


@both
@pytest.mark.parametrize("name", ["a-b_c.d", "__x", ".a", "zarr.json", "root", "meta", "c0"])
def test_S3_T17_valid_names(draft: Any, name: str) -> None:
    store = MemoryStore()
    omnizarr.create_array(store, name=name, data=[1, 2], zarr_format=draft)
    assert list(omnizarr.open_group(store)) == [name]
    assert omnizarr.open_array(store, path=name)[...].tolist() == [1, 2]


def test_S3_T17_only_the_draft_of_2020_limits_the_length() -> None:
    omnizarr.create_group(MemoryStore(), path="x" * 256, zarr_format="3-draft-2022")
    omnizarr.create_group(MemoryStore(), path="x" * 255, zarr_format="3-draft-2020")
    with pytest.raises(ArgumentError, match="255"):
        omnizarr.create_group(MemoryStore(), path="x" * 256, zarr_format="3-draft-2020")


def test_S3_invalid_names_of_existing_nodes() -> None:
    assert problem_paths({"attributes": {}}, 2022, "group", "a b") == ["$"]
    assert warning_paths({"attributes": {}}, 2020, "group", "a b") == ["$"]


@both
def test_S4_T24_groups_may_be_implicit(draft: Any) -> None:
    root = hierarchy(draft)
    assert root["foo"].metadata.implicit
    assert root["foo/baz"].metadata.implicit
    assert not root["foo/bar"].metadata.implicit
    assert root["foo"].attrs.asdict() == {}
    root["foo"].attrs["now"] = "explicit"
    assert not root["foo"].metadata.implicit
    assert omnizarr.open_group(root.store, path="foo").attrs.asdict() == {"now": "explicit"}
    assert sorted(root["foo"]) == ["bar", "baz"]


@both
def test_S4_the_root_always_exists(draft: Any) -> None:
    store = store_of({"zarr.json": entry(YEARS[draft])})
    root = omnizarr.open_group(store, mode="r")
    assert root.metadata.implicit
    assert list(root) == []
    with pytest.raises(NodeNotFoundError):
        omnizarr.open_group(store, path="a", mode="r")


# -- the entry point


def test_S5_S7_T5_minor_versions() -> None:
    later = {"zarr_format": CORE_2022.replace("3.0", "3.7"), "new": 1}
    store = store_of({"zarr.json": entry(2022, **later), "meta/a.array.json": array(2022, new={"x": 1})})
    assert omnizarr.open_array(store, path="a").shape == (10, 6)
    store = store_of({"zarr.json": entry(2020, zarr_format=CORE_2020.replace("3.0", "3.7"), new=1)})
    assert omnizarr.open_group(store).zarr_format == "3-draft-2020"
    unknown = {"extension": "https://example.org/x", "must_understand": True}
    assert problems(entry(2022, **later, extensions=[unknown])) == ["$.extensions[0].extension"]
    for needed in ({"codecs": [{"type": "https://example.org/x"}]}, {"extensions": [unknown]}):
        store = store_of({"zarr.json": entry(2022, **later), "meta/a.array.json": array(2022, **needed)})
        with pytest.raises(MetadataError, match=r"https://example\.org/x"):
            omnizarr.open_array(store, path="a")

    later = CORE_2020.replace("3.0", "3.1")  # the same URI names the encoding
    store = store_of({"zarr.json": entry(2020, zarr_format=later, metadata_encoding=later)})
    assert omnizarr.open_group(store).zarr_format == "3-draft-2020"


@pytest.mark.parametrize("core", [CORE_2020, CORE_2022])
@pytest.mark.parametrize("version", ["4.0", "2.0", "3", "3.x", "3.0.1", "", "3." + "9" * 5000 + "x"])
def test_S7_T5_other_major_versions_are_refused(core: str, version: str) -> None:
    year = 2020 if "protocol" in core else 2022
    encoding = {} if year == 2022 else {"metadata_encoding": CORE_2020}
    assert problems(entry(year, zarr_format=core.replace("3.0", version), **encoding)) == ["$.zarr_format"]


def test_S6_A8_an_unknown_member_of_the_entry_point_causes_a_warning() -> None:
    document = entry(2022, new=1)
    store = store_of({"zarr.json": document, "meta/a.array.json": array(2022)})
    for path in ("", "a"):
        with pytest.warns(OmnizarrWarning, match=r"entry point .*\$\.new") as seen:
            omnizarr.open(store, path=path)
        assert len(seen) == 1
    omnizarr.open_group(store_of({"zarr.json": entry(2020, new=1)}))  # T5


@both
def test_S6_S7_T1_T2_T3_new_entry_points(draft: Any) -> None:
    store = hierarchy(draft).store
    assert json.loads(bytes(store.get("zarr.json") or b"")) == entry(YEARS[draft])


@both
def test_S6_T1_without_an_entry_point_there_is_no_hierarchy(draft: Any) -> None:
    store = hierarchy(draft).store
    for document in (b"{", b"[]", b'{"zarr_format": "https://example.org/core/3.0"}'):
        store.set("zarr.json", document)
        with pytest.raises(MetadataError, match=r"zarr\.json"):
            omnizarr.open(store, mode="r")
    store.erase("zarr.json")
    with pytest.raises(NodeNotFoundError):
        omnizarr.open(store, mode="r")
    with pytest.raises(NodeNotFoundError):
        omnizarr.open_array(store, path="foo/baz/qux", mode="r")


def test_S6_all_problems_are_reported_at_once() -> None:
    document = entry(2022, "extensions", zarr_format=CORE_2022.replace("3.0", "2.0"), metadata_encoding={"type": "xml"})
    assert sorted(problems(document)) == [
        "$.extensions",
        "$.metadata_encoding.metadata_key_suffix",
        "$.metadata_encoding.type",
        "$.zarr_format",
    ]


def test_S8_the_encoding_in_the_draft_of_2022() -> None:
    assert problems(entry(2022, metadata_encoding={"type": "yaml", "metadata_key_suffix": ".yaml"})) == [
        "$.metadata_encoding.type"
    ]
    assert problems(entry(2022, metadata_encoding={"type": "json", "metadata_key_suffix": "/json"})) == [
        "$.metadata_encoding.metadata_key_suffix"
    ]
    for suffix in (".js", ""):  # not valid in new documents, but unambiguous
        member = {"type": "json", "metadata_key_suffix": suffix}
        store = store_of({"zarr.json": entry(2022, metadata_encoding=member), f"meta/a.array{suffix}": array(2022)})
        assert list(omnizarr.open_group(store)) == ["a"]


def test_S8_another_suffix_for_json_is_read_and_not_written() -> None:
    other = {"type": "json", "metadata_key_suffix": ".js"}
    store = store_of({"zarr.json": entry(2022, metadata_encoding=other), "meta/a.array.js": array(2022)})
    assert list(omnizarr.open_group(store)) == ["a"]
    with pytest.raises(MetadataError, match="metadata_key_suffix"):
        omnizarr.create_group(new := MemoryStore(), zarr_format="3-draft-2022", metadata_encoding=other)
    assert keys(new) == []


def test_S9_unknown_encodings_are_refused() -> None:
    unknown = {"extension": "https://example.org/yaml", "type": "yaml", "metadata_key_suffix": ".yaml"}
    assert problems(entry(2022, metadata_encoding=unknown)) == ["$.metadata_encoding.extension"]
    del unknown["metadata_key_suffix"], unknown["type"]
    assert sorted(problems(entry(2022, metadata_encoding=unknown))) == [
        "$.metadata_encoding.extension",
        "$.metadata_encoding.metadata_key_suffix",
        "$.metadata_encoding.type",
    ]


class Deflated(Encoding):
    """JSON, compressed."""

    uri = "https://example.org/deflated-json/1.0"
    type = "deflated"
    suffix = ".json.z"

    def parse(self, data: Any, what: str, *, limit: int) -> Any:
        try:
            return json.loads(zlib.decompressobj().decompress(bytes(data), limit))
        except (ValueError, zlib.error) as error:
            raise MetadataError(f"{what} is not usable: {error}") from None

    def dump(self, document: Any) -> bytes:
        return zlib.compress(json.dumps(document).encode())


@pytest.fixture
def deflated() -> Iterator[Deflated]:
    encoding = Deflated()
    metadata_encodings.register(encoding.uri, encoding)
    yield encoding
    del metadata_encodings._items[encoding.uri]


@pytest.mark.parametrize("given", ["object", "uri", "member"])
def test_S9_S12_a_registered_encoding(deflated: Deflated, given: str) -> None:
    member = {"extension": deflated.uri, "type": "deflated", "metadata_key_suffix": ".json.z"}
    store = MemoryStore()
    root = omnizarr.create_group(
        store,
        zarr_format="3-draft-2022",
        metadata_encoding={"object": deflated, "uri": deflated.uri, "member": member}[given],
        attributes={"a": 1},
    )
    root.create_array("x/y", data=np.arange(5), chunks=2, shards=(4,))
    assert json.loads(bytes(store.get("zarr.json") or b""))["metadata_encoding"] == member
    assert [key for key in keys(store) if key.startswith("meta")] == ["meta/group.json.z", "meta/x/y.array.json.z"]
    assert json.loads(zlib.decompress(bytes(store.get("meta/group.json.z") or b""))) == {"attributes": {"a": 1}}
    again = omnizarr.open_group(store)
    again["x/y"].attrs["b"] = 2
    again["x/y"].append([9])
    again.move("x/y", "z")
    assert list(again.array_keys()) == ["z"]
    assert again["z"].attrs.asdict() == {"b": 2}
    assert again["z"][...].tolist() == [0, 1, 2, 3, 4, 9]
    omnizarr.create_array(store, name="w", data=[1], zarr_format="3-draft-2022")
    assert sorted(omnizarr.open_group(store)) == ["w", "z"]
    store.set("meta/z.array.json.z", b"not deflated")
    with pytest.raises(MetadataError):
        omnizarr.open(store, path="z")


def test_S9_generations_without_metadata_encoding() -> None:
    for draft in ("3-draft-2020", 3, 2):
        with pytest.raises(ArgumentError, match="metadata_encoding"):
            omnizarr.create_group(MemoryStore(), zarr_format=draft, metadata_encoding="https://example.org/x")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="not registered"):
        omnizarr.create_group(MemoryStore(), zarr_format="3-draft-2022", metadata_encoding="https://example.org/x")


def test_T2_T3_the_encoding_in_the_draft_of_2020() -> None:
    assert problems(entry(2020, metadata_encoding="text/yaml")) == ["$.metadata_encoding"]
    assert problems(entry(2020, "metadata_encoding")) == ["$.metadata_encoding"]
    store = store_of({"zarr.json": entry(2020, "metadata_key_suffix"), "meta/root/a.array.json": array(2020)})
    assert omnizarr.open_array(store, path="a").shape == (10, 6)
    store = store_of({"zarr.json": entry(2020, metadata_key_suffix=".js"), "meta/root/a.array.js": array(2020)})
    assert omnizarr.open_array(store, path="a").shape == (10, 6)
    assert list(omnizarr.open_group(store)) == ["a"]


@both
def test_S10_S11_T4_Z3_extensions_of_the_hierarchy(draft: Any) -> None:
    year = YEARS[draft]
    optional = {"extension": "https://example.org/x", "must_understand": False}
    assert omnizarr.open_group(store_of({"zarr.json": entry(year, extensions=[optional])})).metadata.implicit
    needed = {"extension": "https://example.org/x", "must_understand": True, "configuration": 5}
    assert problems(entry(year, extensions=[optional, needed])) == ["$.extensions[1].extension"]
    assert problems(entry(year, extensions=[{"extension": "x:y"}])) == ["$.extensions[0].must_understand"]
    assert problems(entry(year, extensions=[{"must_understand": False}])) == ["$.extensions[0].extension"]
    assert problems(entry(year, extensions={})) == ["$.extensions"]


@both
def test_S11_Z2_Z4_Z5_a_registered_extension(draft: Any) -> None:
    uri = "https://example.org/understood"

    def check(configuration: Any, path: str, found: Any) -> None:
        if configuration != {"right": True}:
            found.add(path, "is not right")

    known_extensions.register(uri, check)
    try:
        said = {"extension": uri, "must_understand": True, "configuration": {"right": True}}
        store = MemoryStore()
        omnizarr.create_group(store, zarr_format=draft, extensions=[said])
        z = omnizarr.create_array(store, name="a", shape=3, dtype="i4", zarr_format=draft, extensions=[said])
        assert json.loads(bytes(store.get("zarr.json") or b""))["extensions"] == [said]
        assert z.metadata.extensions == (said,)
        assert omnizarr.open_array(store, path="a").metadata.extensions == (said,)
        wrong = said | {"configuration": {}}
        with pytest.raises(OmnizarrError, match="is not right"):
            omnizarr.create_group(MemoryStore(), zarr_format=draft, extensions=[wrong])
        with pytest.raises(OmnizarrError, match="is not right"):
            omnizarr.create_array(MemoryStore(), shape=3, dtype="i4", zarr_format=draft, extensions=[wrong])
    finally:
        del known_extensions._items[uri]
    with pytest.raises(MetadataError, match="understood"):
        omnizarr.open_group(store)


@both
def test_S11_an_unknown_mandatory_extension_is_not_written(draft: Any) -> None:
    needed = {"extension": "https://example.org/x", "must_understand": True}
    store = MemoryStore()
    with pytest.raises(OmnizarrError, match="must be understood"):
        omnizarr.create_group(store, zarr_format=draft, extensions=[needed])
    with pytest.raises(OmnizarrError, match="must be understood"):
        omnizarr.create_array(store, shape=3, dtype="i4", zarr_format=draft, extensions=[needed])
    assert keys(store) == []


def test_A5_an_entry_point_with_the_uri_of_2022_and_the_rest_of_2020() -> None:
    """As in Arraylake."""
    hybrid = entry(2020, zarr_format=CORE_2022, metadata_encoding=CORE_2022)
    store = store_of({"zarr.json": hybrid, "meta/root/g/a.array.json": array(2020, compressor=None)})
    root = omnizarr.open_group(store)
    assert root.zarr_format == "3-draft-2020"
    z = root["g/a"]
    z[...] = 3
    z.attrs["x"] = 1
    root.create_array("b", data=[1])
    assert "meta/root/b.array.json" in keys(store)
    assert json.loads(bytes(store.get("zarr.json") or b"")) == hybrid


def test_A5_nodes_in_the_layout_of_the_other_draft() -> None:
    """Only if the layout of the entry point finds no node, because a group may have the name `root`."""
    store = store_of({"zarr.json": entry(2020), "meta/g/a.array.json": array(2020)})
    root = omnizarr.open_group(store)
    assert list(root) == ["g"]
    assert root["g/a"].shape == (10, 6)
    store = store_of({"zarr.json": entry(2022), "meta/root/a.array.json": array(2022)})
    assert list(omnizarr.open_group(store)) == ["root"]


@pytest.mark.parametrize("encoding", ["application/json", CORE_2020])
def test_zarrita_before_october_2020_had_no_suffix(encoding: str) -> None:
    """§2.3.1: no key suffix, `compressor` null, attributes null, groups with extensions."""
    old = entry(2020, "metadata_key_suffix", metadata_encoding=encoding)
    store = store_of(
        {
            "zarr.json": old,
            "meta/root/a.array": array(2020, compressor=None),
            "meta/root/g.group": {"extensions": [], "attributes": None},
        }
    )
    root = omnizarr.open_group(store)
    assert sorted(root) == ["a", "g"]
    assert root["g"].attrs.asdict() == {}
    root["g"].attrs["x"] = 1
    assert json.loads(bytes(store.get("meta/root/g.group") or b"")) == {"extensions": [], "attributes": {"x": 1}}
    assert omnizarr.open_array(store, path="a")[0, 0] == 7


def test_zarrita_before_september_2020_had_chunks_as_in_version_2() -> None:
    """§2.3.1: and not below `root`. New arrays use the same keys."""
    chunk = np.arange(12, dtype="<i2").reshape(4, 3)
    grid = {"type": "regular", "chunk_shape": [4, 3]}
    store = store_of(
        {
            "zarr.json": entry(2020, "metadata_key_suffix", metadata_encoding="application/json"),
            "meta/root/g/a.array": array(2020, chunk_grid=grid, compressor=None, fill_value=None),
            "data/g/a/0.1": chunk.tobytes(),
        }
    )
    root = omnizarr.open_group(store)
    z = root["g/a"]
    np.testing.assert_array_equal(z[:4, 3:], chunk)
    assert not z[:4, :3].any()
    z[9, 0] = 5
    z.attrs["b"] = 2
    assert keys(store) == ["data/g/a/0.1", "data/g/a/2.0", "meta/root/g/a.array", "zarr.json"]
    assert json.loads(bytes(store.get("meta/root/g/a.array") or b""))["chunk_grid"] == grid
    root.create_array("g/b", data=[1, 2], chunks=1)
    assert {"data/g/b/0", "data/g/b/1", "meta/root/g/b.array"} <= set(keys(store))
    assert omnizarr.open_array(store, path="g/b")[...].tolist() == [1, 2]
    before = keys(store)
    with pytest.raises(ArgumentError, match="September 2020"):
        root.create_array("g/c", data=[1, 2], chunk_key_encoding="/")
    with pytest.raises(ArgumentError, match="September 2020"):
        omnizarr.create_array(store, name="d", data=[3], zarr_format="3-draft-2020")
    assert keys(store) == before
    del root["g"]
    assert keys(store) == ["zarr.json"]


def test_A14_a_root_array_of_zarrita_has_two_slashes() -> None:
    """A file system treats them as one; keys in other stores have no empty part."""
    store = store_of({"zarr.json": entry(2020), "meta/root.array.json": array(2020)})
    z = omnizarr.open_array(store)
    z[...] = 1
    assert "data/root/c0/0" in keys(store)


# -- keys


def test_S38_S39_S40_T15_Z8_keys() -> None:
    old, new = dialect_for("3-draft-2020"), dialect_for("3-draft-2022")
    assert old.keys("") == ("meta/root.array.json", "meta/root.group.json")
    assert old.keys("foo/bar") == ("meta/root/foo/bar.array.json", "meta/root/foo/bar.group.json")
    assert old.chunk_prefix("") == "data/root/"
    assert old.chunk_prefix("foo/bar") == "data/root/foo/bar/"
    assert new.keys("") == ("meta/array.json", "meta/group.json")
    assert new.keys("foo/bar") == ("meta/foo/bar.array.json", "meta/foo/bar.group.json")
    assert new.chunk_prefix("") == "data/"
    assert new.chunk_prefix("foo/bar") == "data/foo/bar/"


@both
def test_S41_T16_A2_A15_paths_of_keys(draft: Any) -> None:
    store = hierarchy(draft).store
    start = "root/" if draft == "3-draft-2020" else ""
    assert keys(store) == sorted(
        [
            "zarr.json",
            "meta/root.group.json" if start else "meta/group.json",
            f"meta/{start}foo/bar.group.json",
            f"meta/{start}foo/baz/qux.array.json",
            f"data/{start}foo/baz/qux/c0",
            f"data/{start}foo/baz/qux/c1",
        ]
    )


@both
def test_S41_T16_keys_alone_identify_nodes(draft: Any) -> None:
    start = "meta/root/" if draft == "3-draft-2020" else "meta/"
    year = YEARS[draft]
    store = store_of(
        {
            "zarr.json": entry(year),
            f"{start}a.b/c.array.json": array(year),
            f"{start}a.b.group.json": {"attributes": {}},
            f"{start}x.array.group.json": {"attributes": {}},
            f"{start}notes.txt": b"of somebody",
        }
    )
    found = omnizarr.open_group(store).members(max_depth=None)
    assert [(path, type(node).__name__) for path, node in found] == [
        ("a.b", "Group"),  # listed once, although it is also implicit (S44)
        ("x.array", "Group"),
        ("a.b/c", "Array"),
    ]


@both
def test_S42_T18_creating_is_one_set(draft: Any) -> None:
    inner = hierarchy(draft).store
    store = RecordingStore(inner)
    root = omnizarr.open_group(store)
    root.create_group("x/y/z")
    root.create_array("u/v/w", shape=3, dtype="i4")
    written = [call.key for call in store.of("set", "set_if") if call.key != "zarr.json"]
    assert written == [dialect_for(draft).keys("x/y/z")[1], dialect_for(draft).keys("u/v/w")[0]]


@both
def test_S43_A18_an_array_and_a_group_at_one_path(draft: Any) -> None:
    year = YEARS[draft]
    start = "meta/root/" if year == 2020 else "meta/"
    store = store_of(
        {"zarr.json": entry(year), f"{start}a.array.json": array(year), f"{start}a.group.json": {"attributes": {}}}
    )
    with pytest.warns(OmnizarrWarning, match="also a group document"):
        assert isinstance(omnizarr.open(store, path="a"), omnizarr.Array)
    assert list(omnizarr.open_group(store).array_keys()) == ["a"]
    before = keys(store)
    with pytest.raises(NodeExistsError):
        omnizarr.create_group(store, path="a", zarr_format=draft)
    with pytest.raises(NodeExistsError):
        omnizarr.create_array(store, name="a", shape=3, dtype="i1", zarr_format=draft)
    assert keys(store) == before


@both
def test_S44_S45_T19_children(draft: Any) -> None:
    root = hierarchy(draft)
    foo = root["foo"]
    store = RecordingStore(root.store)
    again = omnizarr.open_group(store, path="foo")
    store.calls.clear()
    assert list(again.keys()) == ["bar", "baz"]
    assert list(again.group_keys()) == ["bar", "baz"]
    assert list(again.array_keys()) == []
    assert store.methods() == ["list_dir"] * 3
    assert list(again["baz"].array_keys()) == ["qux"]
    assert list(foo) == ["bar", "baz"]
    assert list(root) == ["foo"]  # the root's own document is not a child


@both
def test_S46_T20_all_nodes(draft: Any) -> None:
    found = [path for path, _ in hierarchy(draft).members(max_depth=None)]
    assert found == ["foo", "foo/bar", "foo/baz", "foo/baz/qux"]
    assert "qux" in str(hierarchy(draft).tree())


@both
def test_S47_T21_erasing(draft: Any) -> None:
    root = hierarchy(draft)
    root.create_array("foo/bar/deep", data=[1])
    root.create_array("foo/bar-not", data=[1])
    before = keys(root.store)
    del root["foo/bar"]  # an explicit group
    assert keys(root.store) == [key for key in before if "foo/bar." not in key and "foo/bar/" not in key]
    del root["foo/bar-not"]  # an array
    assert [key for key in keys(root.store) if "foo/bar-not" in key] == []
    del root["foo/baz"]  # an implicit group
    assert [key for key in keys(root.store) if "foo" in key] == []


@both
def test_S47_an_array_is_replaced_with_all_its_chunks(draft: Any) -> None:
    root = hierarchy(draft)
    root.create_array("foo/baz/qux", shape=6, dtype="i2", overwrite=True)
    assert root["foo/baz/qux"][...].tolist() == [0] * 6
    with pytest.raises(NodeExistsError):
        root.create_array("foo/baz/qux", shape=6, dtype="i2")


@both
def test_S48_T22_existence_of_nodes(draft: Any) -> None:
    root = hierarchy(draft)
    for path in ("foo", "foo/bar", "foo/baz", "foo/baz/qux"):
        assert path in root
    assert "fo" not in root
    assert "foo/baz/quxx" not in root
    with pytest.raises(NodeNotFoundError):
        root["foo/nothing"]


@both
def test_S49_T24_an_implicit_group_vanishes_with_its_last_child(draft: Any) -> None:
    root = hierarchy(draft)
    del root["foo/baz/qux"]
    assert "foo/baz" not in root
    assert "foo" in root
    root["foo"].attrs["stays"] = True
    del root["foo/bar"]
    assert "foo" in root


# -- groups


@both
def test_S30_T14_documents_of_groups(draft: Any) -> None:
    year = YEARS[draft]
    assert problem_paths({}, year, "group") == ["$.attributes"]
    assert problem_paths({"attributes": []}, year, "group") == ["$.attributes"]
    assert problem_paths([], year, "group") == ["$"]
    assert problem_paths({"attributes": {}, "x": 1}, 2022, "group") == ["$.x"]
    assert problem_paths({"attributes": {}, "x": 1}, 2020, "group") == []
    assert problem_paths({"attributes": {}, "extensions": [1]}, 2022, "group") == ["$.extensions"]


@both
def test_A65_null_and_empty_lists_mean_absent(draft: Any) -> None:
    assert problem_paths({"attributes": None, "extensions": []}, YEARS[draft], "group") == []
    assert problem_paths(array(YEARS[draft], attributes=None), YEARS[draft]) == []


# -- operations of the library


@both
def test_S48_T22_documents_are_fetched_before_listing(draft: Any) -> None:
    inner = hierarchy(draft).store
    for path, listings in (("foo/baz/qux", 0), ("foo/bar", 0), ("foo/baz", 1)):
        store = RecordingStore(inner)
        omnizarr.open(store, path=path, mode="r")
        assert store.methods() == ["get_partial_values"] * 2 + ["list_dir"] * listings


@both
def test_opening_a_root_without_a_document_needs_one_more_listing(draft: Any) -> None:
    inner = MemoryStore()
    omnizarr.create_array(inner, name="foo/bar", shape=3, dtype="i4", zarr_format=draft)
    store = RecordingStore(inner)
    assert omnizarr.open_group(store, mode="r").metadata.implicit
    assert store.methods() == ["get_partial_values"] * 2 + ["list_dir"]


@both
def test_moving_moves_documents_and_chunks(draft: Any) -> None:
    root = hierarchy(draft)
    root.move("foo/baz", "moved/here")
    assert root["moved/here/qux"][...].tolist() == list(range(6))
    assert "foo/baz" not in root
    root.move("foo/bar", "bar")
    assert root["bar"].attrs.asdict() == {"a": 1}
    assert [key for key in keys(root.store) if "foo" in key] == []


@both
def test_opening_inside_a_hierarchy_by_its_path(draft: Any, tmp_path: Any) -> None:
    root = omnizarr.create_group(tmp_path / "x.zarr", zarr_format=draft)
    root.create_array("foo/bar", data=np.arange(4))
    assert omnizarr.open(tmp_path / "x.zarr" / "foo" / "bar")[...].tolist() == [0, 1, 2, 3]  # type: ignore[index]
    assert omnizarr.open_group(str(tmp_path / "x.zarr" / "foo"), mode="r").metadata.implicit
    with pytest.raises(NodeNotFoundError):
        omnizarr.open(tmp_path / "x.zarr" / "nothing")


@both
def test_a_hierarchy_has_one_generation(draft: Any) -> None:
    root = hierarchy(draft)
    with pytest.raises(OmnizarrError):
        omnizarr.create_array(root.store, name="x", shape=1, dtype="i4", zarr_format=3)
    with pytest.raises(OmnizarrError):
        omnizarr.create_array(root.store, name="x", shape=1, dtype="i4", zarr_format=2)
    other = next(name for name in DRAFTS if name != draft)
    with pytest.raises(OmnizarrError):
        omnizarr.create_array(root.store, name="x", shape=1, dtype="i4", zarr_format=other)


@both
def test_nodes_of_other_generations_do_not_belong_to_the_hierarchy(draft: Any) -> None:
    """An array of v3 or v2 is found by its own path, but is not a child in the hierarchy."""
    store = hierarchy(draft).store
    start = "root/" if draft == "3-draft-2020" else ""
    store.set("v3/zarr.json", b'{"zarr_format": 3, "node_type": "group"}')
    store.set("v2/.zgroup", b'{"zarr_format": 2}')
    store.set("foo/bar/.zgroup", b'{"zarr_format": 2}')
    store.set(f"meta/{start}notes.txt", b"no node")
    store.set(f"meta/{start}foo.txt", b"no node")
    assert list(omnizarr.open_group(store)) == ["foo"]
    assert omnizarr.open_group(store, path="v3").zarr_format == 3
    assert omnizarr.open_group(store, path="v2").zarr_format == 2
    assert omnizarr.open_group(store, path="foo/bar").zarr_format == 2  # the innermost one
    assert omnizarr.open_group(store, path="foo/bar", zarr_format=draft).attrs.asdict() == {"a": 1}


@both
def test_a_hierarchy_below_a_v3_group_is_opened_separately(draft: Any, tmp_path: Any) -> None:
    omnizarr.create_group(tmp_path)
    omnizarr.create_array(tmp_path / "sub", name="a/b", data=[1, 2], zarr_format=draft)
    root = omnizarr.open_group(tmp_path)
    assert isinstance(root.members()[0][1], omnizarr.UnreadableNode)
    with pytest.raises(MetadataError, match="store of its own"):
        omnizarr.open(tmp_path, path="sub")
    with pytest.raises(OmnizarrError):
        root.create_array("sub/c", data=[1])
    assert omnizarr.open(tmp_path / "sub").zarr_format == draft
    assert omnizarr.open_array(tmp_path / "sub" / "a" / "b")[...].tolist() == [1, 2]


@both
def test_overwriting_a_hierarchy_of_another_generation(draft: Any) -> None:
    store = hierarchy(draft).store
    omnizarr.create_group(store, zarr_format=3, overwrite=True)
    assert keys(store) == ["zarr.json"]
    omnizarr.create_array(store, data=[1], zarr_format=draft, overwrite=True)
    assert omnizarr.open_array(store).zarr_format == draft


def test_consolidated_metadata_of_the_draft_of_2020() -> None:
    root = hierarchy("3-draft-2020")
    store = root.store
    omnizarr.consolidate_metadata(store)
    document = json.loads(bytes(store.get("meta/root/consolidated/.zmetadata") or b""))
    assert "zarr.json" in document["metadata"]
    assert "meta/root/foo/baz/qux.array.json" in document["metadata"]
    recording = RecordingStore(store)
    again = omnizarr.open_group(recording, mode="r", use_consolidated=True)
    recording.calls.clear()
    assert again["foo/baz/qux"].shape == (6,)
    assert [path for path, _ in again.members(max_depth=None) if path != "consolidated"] == [
        "foo",
        "foo/bar",
        "foo/baz",
        "foo/baz/qux",
    ]
    assert recording.calls == []
    writing = omnizarr.open_group(store)
    writing.create_array("new", shape=1, dtype="i4")
    writing["foo/baz/qux"].resize(3)
    del writing["foo/bar"]
    fresh = omnizarr.open_group(store, mode="r", use_consolidated=True)
    assert fresh["foo/baz/qux"].shape == (3,)
    assert "new" in fresh
    assert "foo/bar" not in fresh


def test_the_draft_of_2022_has_no_consolidated_metadata() -> None:
    root = hierarchy("3-draft-2022")
    before = keys(root.store)
    with pytest.raises(OmnizarrError, match="consolidated"):
        omnizarr.consolidate_metadata(root.store)
    assert keys(root.store) == before
    with pytest.raises(OmnizarrError, match="consolidated"):
        omnizarr.open_group(root.store, use_consolidated=True)


def test_Z1_each_generation_finds_only_its_own_hierarchies() -> None:
    with pytest.raises(NodeNotFoundError):
        omnizarr.open_group(hierarchy("3-draft-2022").store, zarr_format=2, mode="r")
    with pytest.raises(NodeNotFoundError):
        omnizarr.open_group(hierarchy("3-draft-2022").store, zarr_format="3-draft-2020", mode="r")
