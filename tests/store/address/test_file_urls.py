"""Keys, paths and file URLs, by the rules of POSIX and Windows on every platform."""

from __future__ import annotations

from pathlib import PurePosixPath, PureWindowsPath

import pytest

from omnizarr.errors import InvalidKeyError, LocationError
from omnizarr.store.address.file_urls import key_to_path, path_to_url, url_to_path

POSIX = PurePosixPath("/data")
WINDOWS = PureWindowsPath("C:\\data")


def test_R118_slashes_become_the_native_separator():
    assert str(key_to_path("a/b/c.0", POSIX)) == "/data/a/b/c.0"
    assert str(key_to_path("a/b/c.0", WINDOWS)) == "C:\\data\\a\\b\\c.0"


@pytest.mark.parametrize("root", [POSIX, WINDOWS])
@pytest.mark.parametrize("key", ["", "/a", "a/", "..", "a/../b", "a//b", "a\0b", "\ud800"])
def test_R118_invalid_keys_have_no_path(root: PurePosixPath | PureWindowsPath, key: str):
    with pytest.raises(InvalidKeyError):
        key_to_path(key, root)


@pytest.mark.parametrize(
    "segment",
    [*'<>:"|?*\\', "C:", "C:\\Windows", "..\\up", "a\nb", "a\x1f", "CON", "con", "NUL.txt", "nul .x", "COM1",
     "lpt9.tar.gz", "COM¹", "CONIN$", "aux", "a.", "a ", "..."],
)  # fmt: skip
def test_names_that_windows_changes_or_rejects_are_rejected_on_windows_only(segment: str):
    for key in (segment, f"a/{segment}", f"{segment}/a"):
        with pytest.raises(InvalidKeyError, match="Windows"):
            key_to_path(key, WINDOWS)
        assert key_to_path(key, POSIX) == POSIX / key


@pytest.mark.parametrize(
    "key", ["zarr.json", ".zarray", "c/0/1", "console", "COM", "COM10", "null", "a.b c", " a", "ä", "com0x"]
)
def test_valid_windows_names_are_accepted(key: str):
    assert key_to_path(key, WINDOWS) == WINDOWS / key


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("file:///my%20data", PurePosixPath("/my data")),
        ("file:///a%23b%3Fc%25/%C3%A4", PurePosixPath("/a#b?c%/ä")),
        ("file:///caf%E9", PurePosixPath("/caf\udce9")),
        ("file:///a:b", PurePosixPath("/a:b")),
        ("file:///", PurePosixPath("/")),
        ("file:///C:/my%20data", PureWindowsPath("C:\\my data")),
        ("file://server/share/data", PureWindowsPath("\\\\server\\share\\data")),
    ],
)
def test_R117_urls_and_paths(url: str, path: PurePosixPath | PureWindowsPath):
    assert url_to_path(url, type(path)) == path
    assert url_to_path(path_to_url(path), type(path)) == path
    assert path_to_url(path) == url.replace("a:b", "a%3Ab")


@pytest.mark.parametrize("url", ["file:/data", "file://localhost/data", "FILE:///data"])
def test_R117_other_forms_of_rfc_8089(url: str):
    assert url_to_path(url, PurePosixPath) == PurePosixPath("/data")


@pytest.mark.parametrize(
    "url",
    ["/data", "http://x/data", "file:data", "file:", "file://", "file://host/data", "file://~/data", "file:///a?b",
     "file:///a#b", "file:///a%00b", "file://[/data", ""],
)  # fmt: skip
def test_other_urls_are_rejected(url: str):
    with pytest.raises(LocationError):
        url_to_path(url, PurePosixPath)
