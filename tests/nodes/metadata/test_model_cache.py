"""Equal documents are parsed once, and no caller notices."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr import config
from omnizarr.codecs import Gzip
from omnizarr.codecs.contract import codecs
from omnizarr.errors import MetadataError
from omnizarr.model import ZarrFormat
from omnizarr.nodes.metadata import model_cache

FORMATS: tuple[ZarrFormat, ...] = (1, 2, 3, "3-draft-2020", "3-draft-2022")


@pytest.fixture(autouse=True)
def _empty_cache() -> None:
    model_cache._entries.clear()


def make(path: Path, zarr_format: ZarrFormat = 3, **options: Any) -> omnizarr.Array:
    options = {"attributes": {"list": [1, {"two": 2.5}], "text": "ä"}} | options
    return omnizarr.create_array(path, data=np.arange(12).reshape(3, 4), zarr_format=zarr_format, **options)


@pytest.mark.smoke
@pytest.mark.parametrize("zarr_format", FORMATS)
def test_models_from_the_cache_equal_parsed_ones(tmp_path: Path, zarr_format: ZarrFormat) -> None:
    make(tmp_path / "a", zarr_format)
    model_cache._entries.clear()
    parsed = omnizarr.open_array(tmp_path / "a", mode="r")
    assert model_cache._entries
    cached = omnizarr.open_array(tmp_path / "a", mode="r")
    assert cached.metadata == parsed.metadata
    assert cached.metadata is not parsed.metadata
    assert cached._documents() == parsed._documents()
    assert cached.attrs.asdict() == {"list": [1, {"two": 2.5}], "text": "ä"}
    assert np.array_equal(cached[...], parsed[...])


@pytest.mark.parametrize("zarr_format", FORMATS)
def test_no_model_shows_what_a_caller_does_to_another(tmp_path: Path, zarr_format: ZarrFormat) -> None:
    make(tmp_path / "a", zarr_format)
    for _ in range(3):
        model = omnizarr.open_array(tmp_path / "a", mode="r").metadata
        assert model.attributes["list"] == [1, {"two": 2.5}]
        model.attributes["list"][1]["two"] = "changed"
        model.attributes["other"] = 1
        for member in model.verbatim.values():
            if isinstance(member, dict):
                member.clear()


@pytest.mark.parametrize("zarr_format", FORMATS)
def test_a_changed_document_is_seen(tmp_path: Path, zarr_format: ZarrFormat) -> None:
    writer = make(tmp_path / "a", zarr_format)
    reader = omnizarr.open_array(tmp_path / "a", mode="r")
    writer.resize((5, 4))
    writer.attrs["text"] = "b"
    assert reader.shape == (3, 4)
    again = omnizarr.open_array(tmp_path / "a", mode="r")
    assert again.shape == (5, 4)
    assert again.attrs["text"] == "b"
    assert reader.refresh().shape == (5, 4)


def test_members_of_a_group_share_what_is_equal_only(tmp_path: Path) -> None:
    group = omnizarr.create_group(tmp_path / "g")
    for number in range(20):
        group.create_array(f"n{number}", shape=(number % 3 + 1,), dtype="i4", attributes={"n": number % 2})
    for reader in (omnizarr.open_group(tmp_path / "g", mode="r"), omnizarr.open_group(tmp_path / "g", mode="r+")):
        for name, array in [*reader.arrays(), *((name, reader[name]) for name in reader)]:
            number = int(name[1:])
            assert (array.path, array.shape, array.attrs["n"]) == (name, (number % 3 + 1,), number % 2)
    with pytest.raises(omnizarr.errors.ReadOnlyError):
        omnizarr.open_group(tmp_path / "g", mode="r")["n0"][0] = 1


def test_warnings_and_errors_are_repeated(tmp_path: Path) -> None:
    make(tmp_path / "a")
    document = json.loads((tmp_path / "a" / "zarr.json").read_text())
    (tmp_path / "a" / "zarr.json").write_text(json.dumps(document | {"fill_value": None}))
    for _ in range(3):
        with pytest.warns(omnizarr.errors.OmnizarrWarning, match="null is read as the default"):
            omnizarr.open(tmp_path / "a", mode="r")
    (tmp_path / "a" / "zarr.json").write_text(json.dumps(document | {"shape": [-1, 4]}))
    for _ in range(3):
        with pytest.raises(MetadataError, match="shape"):
            omnizarr.open(tmp_path / "a", mode="r")


def test_a_warning_about_the_name_is_given_although_the_document_is_known(tmp_path: Path) -> None:
    group = omnizarr.create_group(tmp_path / "g")
    group.create_array("plain", shape=(2,), dtype="i4")
    (tmp_path / "g" / "...").mkdir()
    (tmp_path / "g" / "..." / "zarr.json").write_bytes((tmp_path / "g" / "plain" / "zarr.json").read_bytes())
    for _ in range(2):
        reader = omnizarr.open_group(tmp_path / "g", mode="r")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert reader["plain"].shape == (2,)
        with pytest.warns(omnizarr.errors.OmnizarrWarning, match="periods"):
            reader["..."]


def test_documents_of_two_generations_warn_each_time(tmp_path: Path) -> None:
    make(tmp_path / "a", 2)
    make(tmp_path / "b", 3)
    (tmp_path / "a" / "zarr.json").write_bytes((tmp_path / "b" / "zarr.json").read_bytes())
    for _ in range(2):
        with pytest.warns(omnizarr.errors.OmnizarrWarning, match="both Zarr v3 and Zarr v2"):
            assert omnizarr.open_array(tmp_path / "a", mode="r").zarr_format == 3
        assert omnizarr.open_array(tmp_path / "a", mode="r", zarr_format=2).zarr_format == 2


def test_settings_and_registrations_are_part_of_the_key(tmp_path: Path) -> None:
    make(tmp_path / "a")
    omnizarr.open(tmp_path / "a", mode="r")
    with config(max_document_bytes=10), pytest.raises(MetadataError, match="longer than the limit"):
        omnizarr.open(tmp_path / "a", mode="r")
    before = len(model_cache._entries)
    with config(max_chunk_bytes=2**20):
        omnizarr.open(tmp_path / "a", mode="r")
    assert len(model_cache._entries) == before + 1
    codecs.register("test-model-cache", Gzip, replace=True)
    omnizarr.open(tmp_path / "a", mode="r")
    assert len(model_cache._entries) == before + 2


def test_read_options_are_not_mixed_up(tmp_path: Path) -> None:
    make(tmp_path / "a", 1)
    omnizarr.open(tmp_path / "a", mode="r")
    strict = omnizarr.open(tmp_path / "a", mode="r", v1_f_order="document")
    assert strict._context.dialect.read_options.v1_f_order == "document"
    plain = omnizarr.open(tmp_path / "a", mode="r")
    assert plain._context.dialect.read_options.v1_f_order == "written"


def test_long_documents_and_mutable_fill_values_are_not_kept(tmp_path: Path) -> None:
    make(tmp_path / "long", attributes={"text": "x" * 5000})
    omnizarr.create_array(tmp_path / "record", shape=(2,), dtype=[("a", "i4"), ("b", "f8")])
    omnizarr.create_array(tmp_path / "text", shape=(2,), dtype=str)
    model_cache._entries.clear()
    for name in ("long", "record", "text"):
        omnizarr.open(tmp_path / name, mode="r")
    assert not model_cache._entries


def test_the_cache_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_cache, "_MOST_ENTRIES", 5)
    group = omnizarr.create_group(tmp_path / "g")
    for number in range(20):
        group.create_array(f"n{number}", shape=(number + 1,), dtype="i4")
    assert [array.shape for _, array in omnizarr.open_group(tmp_path / "g", mode="r").arrays()] == sorted(
        [(number + 1,) for number in range(20)], key=lambda shape: f"n{shape[0] - 1}"
    )
    for number in range(20):
        assert omnizarr.open_array(tmp_path / "g", path=f"n{number}", mode="r").shape == (number + 1,)
    assert len(model_cache._entries) <= 5


@pytest.mark.parametrize("zarr_format", FORMATS[1:])  # v1 has no groups
@pytest.mark.parametrize("copied", [False, True])
def test_names_and_kinds_of_many_members(zarr_format: ZarrFormat, copied: bool) -> None:
    class Copying(omnizarr.MemoryStore):
        """Its values are not hashable."""

        def get(self, key: str, range: Any = None) -> Any:
            value = super().get(key, range)
            return None if value is None else bytearray(value)

    values: dict[str, bytes] = {}
    group = omnizarr.create_group(omnizarr.MemoryStore(values), zarr_format=zarr_format)
    kinds = {f"n{number}": ("array", "group", "broken")[number % 3] for number in range(30)}
    for name, kind in kinds.items():
        if kind == "group":
            group.create_group(name)
        else:
            group.create_array(name, shape=(2,), dtype="i4")
    for name in (name for name, kind in kinds.items() if kind == "broken"):
        key = next(key for key in group._context.dialect.keys(name) if key in values)
        values[key] = b"{"
    store = Copying(values) if copied else omnizarr.MemoryStore(values)
    reader = omnizarr.open_group(store, mode="r")
    assert sorted(reader.keys()) == sorted(kinds)
    shown = {name: "array" if name in {*reader.array_keys()} else "group" for name in kinds if kinds[name] != "broken"}
    assert shown == {name: kind for name, kind in kinds.items() if kind != "broken"}
    assert {name for name, node in reader.items() if hasattr(node, "error")} == {
        name for name, kind in kinds.items() if kind == "broken"
    }
