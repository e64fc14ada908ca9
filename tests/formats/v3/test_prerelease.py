"""Documents of February 2023 (§1.7), with a URI and later a number as `zarr_format`."""

from __future__ import annotations

import gzip
import json
from typing import Any

import numpy as np
import pytest
from tests.formats.documents import array_document
from tests.formats.draft.documents import store_of

import omnizarr
from omnizarr.errors import MetadataError, OmnizarrWarning
from omnizarr.transformers import SHARDING_URIS

VALUES = np.arange(16.0).reshape(4, 4)
NODE = "https://purl.org/zarr/spec/v3#"
GZIP = {"configuration": {"level": 1}}

FIRST: dict[str, Any] = {
    "zarr_format": f"{NODE}array",
    "shape": [4, 4],
    "data_type": "<f8",
    "chunk_grid": {"type": "regular", "chunk_shape": [2, 2], "separator": "/"},
    "codecs": [{"type": "https://purl.org/zarr/spec/codecs/gzip/1.0", **GZIP}],
    "fill_value": "+Infinity",
    "attributes": {"foo": 42},
}
SECOND: dict[str, Any] = FIRST | {
    "zarr_format": 3,
    "node_type": "array",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 2], "separator": "/"}},
    "codecs": [{"name": "gzip", **GZIP}],
    "extensions": [],
}
both = pytest.mark.parametrize("document", [FIRST, SECOND], ids=["address", "number"])


def chunks(path: str = "") -> dict[str, bytes]:
    return {
        f"{path}c/{i}/{j}": gzip.compress(VALUES[2 * i : 2 * i + 2, 2 * j : 2 * j + 2].tobytes())
        for i in range(2)
        for j in range(2)
    }


def opened(documents: dict[str, Any], **options: Any) -> Any:
    with pytest.warns(OmnizarrWarning, match="February 2023") as seen:
        node = omnizarr.open(store_of(documents), **options)
    assert len(seen) == 1
    return node


@both
def test_arrays_are_read(document: dict[str, Any]) -> None:
    z = opened({"zarr.json": document, **chunks()})
    assert (z.zarr_format, z.dtype, z.chunks, z.fill_value) == (3, np.dtype("f8"), (2, 2), np.inf)
    assert z.attrs.asdict() == {"foo": 42}
    np.testing.assert_array_equal(z[...], VALUES)


@both
def test_a_change_converts_the_document_to_v3(document: dict[str, Any]) -> None:
    z = opened({"zarr.json": document | {"dimension_names": ["y", None]}, **chunks()})
    z[0, 0] = -1
    z.attrs["bar"] = 1
    written = json.loads(bytes(z.store.get("zarr.json") or b""))
    assert written == array_document(
        shape=[4, 4],
        data_type="float64",
        chunk_grid={"name": "regular", "configuration": {"chunk_shape": [2, 2]}},
        fill_value="Infinity",
        attributes={"foo": 42, "bar": 1},
        dimension_names=["y", None],
    ) | {name: written[name] for name in ("codecs", "chunk_key_encoding")} | (
        {"storage_transformers": []} if "storage_transformers" in written else {}
    )
    again = omnizarr.open_array(z.store)  # without a warning
    assert again.dimension_names == ("y", None)
    assert again[0, :2].tolist() == [-1, 1]


@both
def test_transpose_and_byte_order(document: dict[str, Any]) -> None:
    codecs = [
        {"type": "transpose", "configuration": {"order": "F"}},
        {"type": "endian", "configuration": {"endian": "big"}},
    ]
    stored = np.asfortranarray(VALUES[:2, :2].astype(">f8")).tobytes("A")
    z = opened({"zarr.json": document | {"codecs": codecs}, "c/0/0": stored})
    np.testing.assert_array_equal(z[:2, :2], VALUES[:2, :2])


@pytest.mark.parametrize(
    "transformer",
    [{"name": "sharding"}, {"extension": SHARDING_URIS[0], "type": "indexed"}],
)
@both
def test_shards(document: dict[str, Any], transformer: dict[str, Any]) -> None:
    parts = list(chunks().values())
    ends = np.cumsum([0, *map(len, parts)])
    index = np.stack([ends[:-1], np.diff(ends)], axis=1).astype("<u8")
    sharded = document | {"storage_transformers": [transformer | {"configuration": {"chunks_per_shard": [2, 2]}}]}
    z = opened({"zarr.json": sharded, "c/0/0": b"".join(parts) + index.tobytes()})
    assert (z.shards, z.chunks) == ((4, 4), (2, 2))
    np.testing.assert_array_equal(z[...], VALUES)
    z.attrs["x"] = 1
    np.testing.assert_array_equal(omnizarr.open_array(z.store)[1:3], VALUES[1:3])


def test_groups_and_their_children() -> None:
    group = opened(
        {
            "zarr.json": {"zarr_format": f"{NODE}group", "attributes": {"spam": "ham"}},
            "a/zarr.json": FIRST,
            "b/zarr.json": SECOND,
            "c/zarr.json": {"zarr_format": f"{NODE}group"},
            "d/zarr.json": {"zarr_format": 3, "node_type": "group"},
            **chunks("a/"),
        }
    )
    assert group.attrs.asdict() == {"spam": "ham"}
    assert (list(group.array_keys()), list(group.group_keys())) == (["a", "b"], ["c", "d"])
    with pytest.warns(OmnizarrWarning, match="February"):
        np.testing.assert_array_equal(group["a"][...], VALUES)
    group.create_array("d/e", data=[1])
    assert omnizarr.open_array(group.store, path="d/e")[...].tolist() == [1]


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"extensions": [{"extension": "x:y", "must_understand": True}]}, "$.extensions[0].extension"),
        ({"something": 1}, "$.something"),
        ({"codecs": 5}, "$.codecs"),
        ({"codecs": ["gzip"]}, "$.codecs[0]"),
        ({"storage_transformers": [{"name": "other"}]}, "$.storage_transformers[0].extension"),
        ({"data_type": {"name": "datetime"}}, "$.data_type.extension"),
    ],
)
@both
def test_invalid_documents_are_errors(document: dict[str, Any], changes: dict[str, Any], place: str) -> None:
    with pytest.raises(MetadataError) as caught:
        omnizarr.open(store_of({"zarr.json": document | changes}))
    assert [problem.path for problem in caught.value.problems] == [place]


@pytest.mark.parametrize("version", [f"{NODE}table", 3.0, 4, True, None])
def test_other_versions_are_errors(version: Any) -> None:
    with pytest.raises(MetadataError, match="zarr_format"):
        omnizarr.open(store_of({"zarr.json": SECOND | {"zarr_format": version}}))


def test_unknown_extensions_of_groups_are_errors() -> None:
    with pytest.raises(MetadataError, match="extension"):
        omnizarr.open(
            store_of(
                {
                    "zarr.json": {
                        "zarr_format": f"{NODE}group",
                        "extensions": [{"extension": "x:y", "must_understand": True}],
                    }
                }
            )
        )
