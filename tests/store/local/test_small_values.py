"""Values that the kernel reads in batches: the same answers and errors as those of Python."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from omnizarr import LocalStore, config, create_array, open_group
from omnizarr.errors import OmnizarrError
from omnizarr.native import UNUSUAL, kernel
from omnizarr.store import Request
from omnizarr.store.local.small_values import read_small_values

LIMIT = 2**16  # bytes; the kernel leaves longer values to Python


def answers(store: LocalStore, requests: list[Request]) -> list[Any]:
    """The answer to each request, or the type and the text of its error."""
    results: list[Any] = []
    for request in requests:
        try:
            value = store.get_partial_values([request])[0]
            results.append(None if value is None else bytes(value))
        except OmnizarrError as error:
            results.append((type(error), str(error)))
    return results


@contextmanager
def without_openat2() -> Iterator[None]:
    """As on a system that has no such call."""
    if kernel() is None:
        yield
        return
    before = kernel().use_openat2(False)
    try:
        yield
    finally:
        kernel().use_openat2(before)


def both_ways(root: Path, requests: list[Request], **options: bool) -> list[Any]:
    """The answers, after a check that Python gives the same, and the kernel without `openat2`; each with a store that
    knows no directory yet."""
    compiled = answers(LocalStore(root, **options), requests)
    with without_openat2():
        assert answers(LocalStore(root, **options), requests) == compiled
    with config(native=0):
        assert answers(LocalStore(root, **options), requests) == compiled
    return compiled


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    root = tmp_path / "root"
    for key, value in {
        "zarr.json": b"top",
        "a/zarr.json": b"in a",
        "a/.zattrs": b"{}",
        "a/b/c/.zarray": b"deep",
        "a/empty": b"",
        "a/long": bytes(LIMIT + 1),
        "a/full": bytes(LIMIT),
        "ä/zarr.json": b"not ASCII",
    }.items():
        path = root / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(value)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "zarr.json").write_bytes(b"secret")
    return root


@pytest.mark.smoke
def test_values_of_several_directories_come_in_the_order_of_the_requests(root: Path) -> None:
    keys = ["a/.zattrs", "zarr.json", "none", "a/b/c/.zarray", "a/none", "b/zarr.json", "ä/zarr.json", "a/zarr.json"]
    requests: list[Request] = [(key, None) for key in keys]
    expected = [b"{}", b"top", None, b"deep", None, None, b"not ASCII", b"in a"]
    assert LocalStore(root).get_partial_values(requests) == both_ways(root, requests) == expected


def test_ranges_cut_values(root: Path) -> None:
    requests: list[Request] = [("a/zarr.json", (0, length)) for length in (0, 2, 4, 5, 10**12)]
    assert both_ways(root, requests) == [b"", b"in", b"in a", b"in a", b"in a"]
    requests = [("a/zarr.json", range) for range in ((1, 2), (-1, None), (0, None), (2, None))]
    assert both_ways(root, requests) == [b"n ", b"a", b"in a", b" a"]


def test_empty_long_and_special_files(root: Path) -> None:
    os.mkfifo(root / "a" / "pipe")
    (root / "a" / "folder").mkdir()
    keys = ["a/empty", "a/long", "a/full", "a/pipe", "a/folder", "a/zarr.json/x", f"a/{'x' * 300}", "a"]
    sizes = [None if value is None else len(value) for value in both_ways(root, [(key, None) for key in keys])]
    assert sizes == [0, LIMIT + 1, LIMIT, None, None, None, None, None]


def test_unusual_keys_are_answered_or_rejected_as_by_python(root: Path) -> None:
    (root / "a" / ".hidden").write_bytes(b"hidden")
    keys = ["", "/a", "a/", "a//zarr.json", "../outside/zarr.json", "a/../zarr.json", "./zarr.json", "a/\0", "\ud800"]
    keys += [".omnizarr-0-1-2.tmp", "a/.hidden", "a/.z/..", "x" * 5000, "/".join(["x" * 200] * 25)]
    results = both_ways(root, [(key, None) for key in keys])
    assert results[10] == b"hidden"
    assert all(result is None or type(result) is tuple for result in results[11:])
    assert all(type(result) is tuple for result in results[:10])


def test_links_are_rejected_unless_they_are_followed(root: Path) -> None:
    (root / "link").symlink_to(root.parent / "outside")
    (root / "a" / "inner").symlink_to(root.parent / "outside")
    (root / "a" / ".zgroup").symlink_to(root.parent / "outside" / "zarr.json")
    (root / "a" / "dangling").symlink_to(root / "nowhere")
    requests: list[Request] = [
        (key, None) for key in ("link/zarr.json", "a/inner/zarr.json", "a/.zgroup", "a/dangling")
    ]
    assert all("leads through a link" in result[1] for result in both_ways(root, requests))
    assert both_ways(root, requests, follow_symlinks=True) == [b"secret", b"secret", b"secret", None]


def test_a_root_may_be_a_link_or_absent(root: Path) -> None:
    (root.parent / "way").symlink_to(root)
    requests: list[Request] = [("zarr.json", None), ("a/zarr.json", None)]
    assert both_ways(root.parent / "way", requests) == [b"top", b"in a"]
    assert both_ways(root.parent / "nowhere", requests) == [None, None]


def test_a_root_that_is_replaced_shows_its_new_values(root: Path) -> None:
    store = LocalStore(root)
    requests: list[Request] = [("zarr.json", None), ("a/zarr.json", None)]
    assert store.get_partial_values(requests) == [b"top", b"in a"]
    root.rename(root.parent / "old")
    assert store.get_partial_values(requests) == [None, None]
    (root / "a").mkdir(parents=True)
    (root / "a" / "zarr.json").write_bytes(b"new")
    assert store.get_partial_values(requests) == [None, b"new"]


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW") or kernel() is None, reason="there is no kernel")
@pytest.mark.parametrize("linked", [False, True])
def test_the_first_chunk_of_an_array_is_read_through_no_link(root: Path, linked: bool) -> None:
    """With `openat2`, without it, and below a root whose path has a link."""
    if linked:
        (root.parent / "way").symlink_to(root)
        root = root.parent / "way"
    a = np.arange(10)
    for name in ("plain", "part", "chunk", "folder"):
        create_array(root / name, data=a, chunks=10, compressors=None)
    outside = root.parent / "outside"
    (root / "chunk" / "c" / "0").rename(outside / "0")
    (root / "chunk" / "c" / "0").symlink_to(outside / "0")
    (root / "part" / "c").rename(outside / "c")
    (root / "part" / "c").symlink_to(outside / "c")
    (root / "folder").rename(outside / "folder")
    (root / "folder").symlink_to(outside / "folder")
    (root / "zarr.json").write_bytes(b'{"zarr_format": 3, "node_type": "group"}')

    def contents() -> list[Any]:
        group = open_group(root, mode="r")
        results: list[Any] = [group.store._paths.opens_unlinked, group["plain"][2:5].tolist()]
        for name in ("part", "chunk", "folder"):
            try:
                results.append(group[name][2:5].tolist())
            except OmnizarrError as error:
                results.append("link" in str(error))
        return results

    expected = [[2, 3, 4], True, True, True]
    available = kernel().is_unlinked("/")
    assert contents() == [available and not linked, *expected]
    with without_openat2():
        assert contents() == [False, *expected]


def test_many_values_are_read_in_batches(root: Path) -> None:
    count = 1000
    for number in range(count):
        (root / f"n{number}").mkdir()
        (root / f"n{number}" / "zarr.json").write_bytes(b"%d" % number)
    requests: list[Request] = [(f"n{number}/zarr.json", None) for number in range(count + 1)]
    store = LocalStore(root)
    expected = [b"%d" % number for number in range(count)]
    assert store.get_partial_values(requests) == [*expected, None]
    assert dict(store.get_each(requests[::-1])) == {count - number: value for number, value in enumerate(expected)} | {
        0: None
    }


def test_odd_requests_among_many_are_answered_by_python(root: Path) -> None:
    requests: list[Any] = [(f"none{number}", None) for number in range(300)]
    requests[7], requests[280] = ["zarr.json", None], ("a/zarr.json", [0, 2])
    values = LocalStore(root).get_partial_values(requests)
    assert values[7] == b"top"
    assert values[280] == b"in"
    assert values.count(None) == 298


def test_the_kernel_reads_no_parts_and_no_key_twice_in_a_row(root: Path) -> None:
    paths = LocalStore(root)._paths
    assert read_small_values(paths, [("a", (1, 2))]) is None
    assert read_small_values(paths, [("a", None), ("a", None)]) is None  # both must be of one state of the value
    with config(native=0):
        assert read_small_values(paths, [("a", None)]) is None


def test_a_subclass_with_its_own_get_is_asked_for_each_value(root: Path) -> None:
    class Upper(LocalStore):
        def get(self, key: str, range: Any = None) -> bytes | None:
            value = super().get(key, range)
            return None if value is None else bytes(value).upper()

    assert Upper(root).get_partial_values([("zarr.json", None), ("a/zarr.json", None)]) == [b"TOP", b"IN A"]


@pytest.mark.skipif(kernel() is None, reason="there is no kernel")
def test_wrong_arguments_of_the_kernel_are_rejected(root: Path) -> None:
    read_values, is_folder = kernel().read_values, kernel().is_folder
    for arguments in ((), ("x/", ["a"], 0, 0, 1), (None, (), 0, 0, 1), ("x/", (), None, 0, 1), ("x\0/", (), 0, 0, 1)):
        with pytest.raises((TypeError, ValueError)):
            read_values(*arguments)
    for odd in (None, (), ("a",), ("a", 1), ("a", (1,)), ("a", (1, None)), ("a", (0, -1)), ("a", ("b", 1))):
        assert read_values(f"{root}/", (odd,), os.O_RDONLY, 0, 1) is None
    assert read_values(f"{root}/", (), 0, 0, 1) == []
    whole = (0, 2**70)
    assert read_values(f"{root}/", (("zarr.json", whole), (7, None)), os.O_RDONLY, 0, 1)[0] == b"top"
    read_value = kernel().read_value
    for arguments in ((), ("x\0/", "a", None, 0, 0), (None, "a", None, 0, 0), ("x/", "a", None, None, 0)):
        with pytest.raises((TypeError, ValueError)):
            read_value(*arguments)
    for key, part in (("zarr.json", (1, 2)), ("zarr.json", (0, -1)), ("zarr.json", 3), (7, None), ("a\0", None)):
        assert read_value(f"{root}/", key, part, os.O_RDONLY, 0) == UNUSUAL
    assert read_value(f"{root}/", "zarr.json", whole, os.O_RDONLY, 0) == b"top"
    with pytest.raises((TypeError, ValueError)):
        kernel().is_unlinked("x\0")
    assert not kernel().is_unlinked(str(root / "zarr.json"))
    for arguments in ((), ("x/", None, 0), ("x/", "a\0/", 0)):
        with pytest.raises((TypeError, ValueError)):
            is_folder(*arguments)
    folders = ("a/", "a/b/", "a/b/c/", "a/zarr.json/", "zarr.json/", "x/", "../root/", "a/../a/", "a//", "/", "", "a")
    assert [folder for folder in folders if is_folder(f"{root}/", folder, False)] == ["a/", "a/b/", "a/b/c/"]
    (root / "link").symlink_to(root / "a")
    assert [is_folder(f"{root}/", folder, follow) for follow in (False, True) for folder in ("link/", "link/b/")] == [
        False,
        False,
        True,
        True,
    ]
