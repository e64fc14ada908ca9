"""`/data`: values, ranges, preconditions, headers, and the limits of the location, through a socket."""

from __future__ import annotations

import http.client
import json
from email.parser import BytesParser
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnizarr
import omnizarr.serve
from omnizarr.serve.application import Application
from omnizarr.serve.http_server import HttpServer
from omnizarr.serve.messages import HttpRequest
from omnizarr.serve.mounts import Site
from tests.serve.test_ranges import header, model

Reply = tuple[int, dict[str, str], bytes]


def ask(server: HttpServer, path: str, method: str = "GET", **headers: str) -> Reply:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    try:
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        reply = connection.getresponse()
        return reply.status, {name.lower(): value for name, value in reply.getheaders()}, reply.read()
    finally:
        connection.close()


@pytest.mark.smoke
def test_a_value(server: HttpServer, weather: Path) -> None:
    stored = (weather / "t/c/0/0").read_bytes()
    status, headers, data = ask(server, "/data/t/c/0/0")
    assert (status, data) == (200, stored)
    assert headers["content-length"] == str(len(stored))
    assert headers["content-type"] == "application/octet-stream"
    assert headers["accept-ranges"] == "bytes"
    assert headers["access-control-allow-origin"] == "*"
    assert "content-encoding" not in headers
    assert ask(server, "/data/t/zarr.json")[1]["content-type"] == "application/json"


def test_head_has_the_headers_of_get_and_no_content(server: HttpServer) -> None:
    got, asked = ask(server, "/data/t/c/0/0"), ask(server, "/data/t/c/0/0", "HEAD")
    assert (asked[0], asked[1], asked[2]) == (200, got[1], b"")


@pytest.mark.parametrize("key", ["t/c/1/1", "nothing", "t/c", "t/c/0/0/0", "inner//s/zarr.json", "zarr.json/", "link"])
def test_absent_keys_are_404(server: HttpServer, key: str) -> None:
    assert ask(server, f"/data/{key}")[0] == 404


@pytest.mark.parametrize(
    "path",
    [
        "/data/../secret.txt",
        "/data/%2e%2e/secret.txt",
        "/data/..%2fsecret.txt",
        "/data/t/../../secret.txt",
        "/data//etc/passwd",
        "/data/%2fetc%2fpasswd",
        "/data/t%00",
        "/data/..\\secret.txt",
        "/data/./zarr.json",
        "/data/link",
    ],
)
def test_no_path_leads_out_of_the_location(server: HttpServer, path: str) -> None:
    status, _, data = ask(server, path)
    assert status in (400, 404)
    assert b"outside" not in data
    assert b"root:" not in data


def test_stored_pages_are_no_pages(server: HttpServer) -> None:
    status, headers, _ = ask(server, "/data/page.html")
    assert status == 200
    assert headers["content-type"] == "application/octet-stream"
    assert headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in headers["content-security-policy"]


def test_ranges(server: HttpServer, weather: Path) -> None:
    stored = (weather / "t/c/0/0").read_bytes()
    size = len(stored)
    status, headers, data = ask(server, "/data/t/c/0/0", Range="bytes=2-5")
    assert (status, data, headers["content-range"]) == (206, stored[2:6], f"bytes 2-5/{size}")
    assert ask(server, "/data/t/c/0/0", Range="bytes=-4")[2] == stored[-4:]
    assert ask(server, "/data/t/c/0/0", Range="bytes=10-")[2] == stored[10:]
    status, headers, _ = ask(server, "/data/t/c/0/0", Range=f"bytes={size}-")
    assert (status, headers["content-range"]) == (416, f"bytes */{size}")
    assert ask(server, "/data/t/c/0/0", Range="items=0-1")[0] == 200
    status, headers, data = ask(server, "/data/t/c/0/0", "HEAD", Range="bytes=2-5")
    assert (status, headers["content-length"]) == (200, str(size))


@given(header)
def test_responses_to_ranges_follow_the_model(text: str | None) -> None:
    application = Application(Site.of([_site()]))
    headers = {"host": "localhost"} | ({} if text is None else {"range": text})
    response = application.respond(HttpRequest("GET", "/data/zarr.json", "", headers))
    stored = b"".join(
        application.respond(HttpRequest("GET", "/data/zarr.json", "", {"host": "localhost"})).body.pieces()
    )
    data = b"".join(response.body.pieces())
    parts = model(text, len(stored))
    if parts is None:
        assert (response.status, data) == (200, stored)
    elif not parts:
        assert response.status == 416
    elif len(parts) == 1:
        assert (response.status, data) == (206, bytes(stored[n] for n in sorted(parts[0])))
        assert response.headers["Content-Range"] == f"bytes {min(parts[0])}-{max(parts[0])}/{len(stored)}"
    else:
        assert response.status == 206
        assert _multipart(response.headers["Content-Type"], data) == [
            bytes(stored[n] for n in sorted(part)) for part in parts
        ]
    if response.status == 206:
        assert len(data) == response.body.length


def _site() -> omnizarr.MemoryStore:
    store = omnizarr.MemoryStore()
    omnizarr.create_group(store)
    return store


def _multipart(content_type: str, data: bytes) -> list[bytes]:
    message = BytesParser().parsebytes(f"Content-Type: {content_type}\r\n\r\n".encode() + data)
    return [part.get_payload(decode=True) for part in message.get_payload()]  # type: ignore[union-attr, misc]


def test_preconditions(server: HttpServer, weather: Path) -> None:
    stored = (weather / "t/c/0/0").read_bytes()
    tag = ask(server, "/data/t/c/0/0")[1]["etag"]
    status, headers, data = ask(server, "/data/t/c/0/0", If_None_Match=f'"x", W/{tag}')
    assert (status, data, headers["etag"]) == (304, b"", tag)
    assert ask(server, "/data/t/c/0/0", If_None_Match="*")[0] == 304
    assert ask(server, "/data/t/c/0/0", If_None_Match='"x"')[0] == 200
    assert ask(server, "/data/t/c/0/0", If_Match='"x"')[0] == 412
    assert ask(server, "/data/t/c/0/0", If_Match=tag, Range="bytes=0-1")[0] == 206
    assert ask(server, "/data/t/c/0/0", If_Range=tag, Range="bytes=0-1")[2] == stored[:2]
    for other in ('"x"', f"W/{tag}", "Wed, 01 Jan 2025 00:00:00 GMT"):
        assert ask(server, "/data/t/c/0/0", If_Range=other, Range="bytes=0-1")[0] == 200


def test_the_tag_changes_with_the_value(tmp_path: Path) -> None:
    array = omnizarr.create_array(tmp_path / "x.zarr", shape=4, dtype="u1", compressors=[])
    array[...] = 1
    with omnizarr.serve.start(str(tmp_path / "x.zarr")) as server:
        first = ask(server, "/data/c/0")
        array[...] = 2
        second = ask(server, "/data/c/0", If_None_Match=first[1]["etag"])
    assert (second[0], second[2]) == (200, b"\2\2\2\2")


@pytest.mark.parametrize("kind", ["memory", "zip", "sqlite", "references", "inner"])
def test_every_store_is_served(tmp_path: Path, weather: Path, kind: str) -> None:
    key, stored = "t/c/0/0", (weather / "t/c/0/0").read_bytes()
    values = {path.relative_to(weather).as_posix(): path.read_bytes() for path in weather.rglob("*") if path.is_file()}
    location: object = omnizarr.MemoryStore(values)
    if kind in ("zip", "sqlite"):
        location = str(tmp_path / f"x.{kind}")
        with omnizarr.ZipStore(location) if kind == "zip" else omnizarr.SQLiteStore(location) as store:  # type: ignore[arg-type]
            store.set_each(values.items())
    elif kind == "references":
        for each, value in values.items():
            (tmp_path / "stored" / each).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "stored" / each).write_bytes(value)
        location = str(tmp_path / "refs.json")
        references = {"version": 1, "refs": {each: [f"stored/{each}"] for each in values}}
        Path(location).write_text(json.dumps(references))
    elif kind == "inner":
        location, key = f"{weather}/t", "c/0/0"
    with omnizarr.serve.start(location) as server:
        status, headers, data = ask(server, f"/data/{key}")
        assert (status, data) == (200, stored)
        assert ask(server, f"/data/{key}", Range="bytes=-3")[2] == stored[-3:]
        assert ask(server, f"/data/{key}", If_None_Match=headers["etag"])[0] == 304
        assert ask(server, "/data/absent")[0] == 404
        if kind == "inner":
            assert ask(server, "/data/names/zarr.json")[0] == 404


def test_several_locations_have_names(weather: Path, tmp_path: Path) -> None:
    omnizarr.save_array(tmp_path / "other.zarr", [1, 2])
    with omnizarr.serve.start([str(weather), str(tmp_path / "other.zarr")]) as server:
        assert ask(server, "/data/weather.zarr/t/zarr.json")[0] == 200
        assert ask(server, "/data/other.zarr/zarr.json")[0] == 200
        assert ask(server, "/data/t/zarr.json")[0] == 404
        assert b'href="./other.zarr/"' in ask(server, "/data/")[2]


def test_listings(server: HttpServer) -> None:
    status, headers, data = ask(server, "/data/inner/s/")
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert b'<a href="./c/">c/</a>' in data
    assert b'<a href="./zarr.json">zarr.json</a>' in data


def test_names_of_listings_are_escaped(tmp_path: Path) -> None:
    group = omnizarr.create_group(tmp_path / "x.zarr")
    group.create_group('<script>"&')
    with omnizarr.serve.start(str(tmp_path / "x.zarr")) as server:
        assert b"<script>" not in ask(server, "/data/")[2]


def test_a_large_value_is_sent_in_pieces(tmp_path: Path) -> None:
    omnizarr.create_group(tmp_path / "x.zarr")
    content = bytes(range(256)) * 8192
    (tmp_path / "x.zarr" / "big").write_bytes(content)
    with omnizarr.serve.start(str(tmp_path / "x.zarr")) as server:
        assert ask(server, "/data/big")[2] == content
    application = Application(Site.of([str(tmp_path / "x.zarr")]))
    response = application.respond(HttpRequest("GET", "/data/big", "", {"host": "localhost"}))
    assert max(len(piece) for piece in response.body.pieces()) <= 2**18
    response.body.close()


def test_the_address_is_a_url(server: HttpServer) -> None:
    assert urlsplit(server.address).port == server.port


@given(st.text(max_size=30), st.sampled_from(["GET", "HEAD", "OPTIONS", "POST", "DELETE", "x"]))
def test_any_path_gets_an_answer(path: str, method: str) -> None:
    application = Application(Site.of([_site()]))
    response = application.respond(HttpRequest(method, f"/data/{path}", "", {"host": "localhost"}))
    assert response.status in (200, 204, 404, 405)
    response.body.close()
