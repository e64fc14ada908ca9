"""Entry points of both drafts, and layouts that they do not determine (S5–S12, T1–T5, A5)."""

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
    YEARS,
    array,
    both,
    entry,
    hierarchy,
    keys,
    store_of,
)

import omnizarr
from omnizarr import MemoryStore
from omnizarr.errors import (
    ArgumentError,
    MetadataError,
    NodeNotFoundError,
    OmnizarrError,
    OmnizarrWarning,
)
from omnizarr.formats.document_encoding import Encoding, metadata_encodings
from omnizarr.formats.draft.extensions import extensions as known_extensions


def problems(document: Any) -> list[str]:
    with pytest.raises(MetadataError) as caught:
        omnizarr.open(store_of({"zarr.json": document}))
    return [problem.path for problem in caught.value.problems]


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
def test_S7_T5_other_major_versions_are_rejected(core: str, version: str) -> None:
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


def test_S9_unknown_encodings_are_rejected() -> None:
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


@pytest.mark.parametrize("given", ["object", "uri"])
def test_T2_T3_a_registered_encoding_in_the_draft_of_2020(deflated: Deflated, given: str) -> None:
    store = MemoryStore()
    encoding = deflated if given == "object" else deflated.uri
    root = omnizarr.create_group(store, zarr_format="3-draft-2020", metadata_encoding=encoding, attributes={"a": 1})
    root.create_array("x/y", data=np.arange(5), chunks=2)
    stored = json.loads(bytes(store.get("zarr.json") or b""))
    assert (stored["metadata_encoding"], stored["metadata_key_suffix"]) == (deflated.uri, ".json.z")
    documents = ["meta/root.group.json.z", "meta/root/x/y.array.json.z"]
    assert [key for key in keys(store) if key.startswith("meta")] == documents
    assert json.loads(zlib.decompress(bytes(store.get(documents[0]) or b""))) == {"attributes": {"a": 1}}
    again = omnizarr.open_group(store)
    again["x/y"].append([9])
    assert omnizarr.open_array(store, path="x/y")[...].tolist() == [0, 1, 2, 3, 4, 9]
    omnizarr.consolidate_metadata(store)
    assert omnizarr.open_group(store, mode="r", use_consolidated=True)["x/y"][...].tolist() == [0, 1, 2, 3, 4, 9]
    with pytest.raises(ArgumentError, match="expected an encoding or its URI"):
        omnizarr.create_group({}, zarr_format="3-draft-2020", metadata_encoding={"extension": deflated.uri})
    with pytest.raises(ArgumentError, match="is not registered"):
        omnizarr.create_group({}, zarr_format="3-draft-2020", metadata_encoding="https://example.org/unknown")


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

    def check(configuration: Any, path: str, problems: Any) -> None:
        if configuration != {"right": True}:
            problems.add(path, "is not right")

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
