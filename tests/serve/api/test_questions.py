"""The questions of the viewer: windows against NumPy, costs, tables, samples, coordinates, and the token."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnizarr
from omnizarr.errors import OmnizarrError
from omnizarr.serve.api import windows
from omnizarr.serve.application import Application
from omnizarr.serve.messages import HttpRequest
from omnizarr.serve.mounts import Site
from omnizarr.testing import RecordingStore
from tests.corpora.reading import all_stored, generations

DATA = np.arange(6 * 7 * 8, dtype="int32").reshape(6, 7, 8)


def respond(application: Application, question: str, **parameters: Any) -> tuple[int, dict[str, str], bytes]:
    request = HttpRequest(
        "GET", f"/api/{question}", urlencode(parameters), {"host": "localhost", "x-omnizarr-token": application.token}
    )
    response = application.respond(request)
    return response.status, response.headers, b"".join(map(bytes, response.body.pieces()))


def ask(application: Application, question: str, **parameters: Any) -> Any:
    status, _, data = respond(application, question, **parameters)
    assert status == 200, data
    return json.loads(data)


def window(application: Application, **parameters: Any) -> tuple[dict[str, Any], Any]:
    status, _, data = respond(application, "window", **parameters)
    assert status == 200, data
    length = int.from_bytes(data[:4], "little")
    assert (4 + length) % 8 == 0
    facts = json.loads(data[4 : 4 + length])
    values = np.frombuffer(data[4 + length :], {"f4": "<f4", "f8": "<f8", "u1": "u1", "u4": "<u4"}[facts["type"]])
    return facts, values.reshape(facts["shape"])


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> Application:
    place = tmp_path_factory.mktemp("api") / "x.zarr"
    group = omnizarr.create_group(place)
    group.create_array("a", data=DATA, chunks=(1, 4, 4), dimension_names=["time", "y", "x"])
    group.create_array(
        "time", data=np.arange(6) * 12, dimension_names=["time"], attributes={"units": "hours since 2000-01-01"}
    )
    group.create_array("x", data=np.linspace(0, 70, 8), dimension_names=["x"], attributes={"units": "degrees_east"})
    sparse = group.create_array("sparse", shape=(8, 8), chunks=(2, 2), shards=(4, 4), dtype="f4", fill_value=np.nan)
    sparse[:2, :2] = 1
    group.create_array("complex", data=np.array([3 + 4j, 1j]))
    group.create_array("names", data=np.array(["<b>", "ü"], dtype=object), dtype="string")
    group.create_array("empty", shape=(0, 3), dtype="f8")
    for level in range(2):
        group.create_array(f"scale/{level}", data=DATA[0, :: 2**level, :: 2**level])
    group["scale"].update_attributes({"multiscales": [{"datasets": [{"path": "0"}, {"path": "1"}]}]})
    return Application(Site.of([str(place)]))


@given(data=st.data())
def test_windows_equal_numpy(application: Application, data: st.DataObject) -> None:
    items, index = [], []
    for length in DATA.shape:
        if data.draw(st.booleans()):
            number = data.draw(st.integers(0, length - 1))
            items.append(str(number))
            index.append(number)
        else:
            start, stop, step = (
                data.draw(st.integers(0, length)),
                data.draw(st.integers(0, length)),
                data.draw(st.integers(1, 4)),
            )
            items.append(f"{start}:{stop}:{step}")
            index.append(slice(start, stop, step))
    facts, values = window(
        application, path="a", select=",".join(items), type=data.draw(st.sampled_from(["f4", "f8", "u4"]))
    )
    expected = DATA[tuple(index)]
    np.testing.assert_array_equal(values, expected)
    assert facts["count"] == expected.size
    assert facts["max"] == (float(expected.max()) if expected.size else None)


def test_a_window_tells_its_cost(application: Application) -> None:
    facts, _ = window(application, path="a", select="0,0:2,0:2")
    assert (facts["chunks"], facts["decoded_bytes"], facts["shown_bytes"]) == (1, 64, 16)
    assert facts["bytes_read"] > 0
    facts, values = window(application, path="sparse", select=":,:")
    assert (facts["nan"], facts["absent"]) == (60, 3)
    assert np.isnan(values).sum() == 60


def test_a_remote_store_is_not_asked_for_sizes() -> None:
    store = RecordingStore(omnizarr.MemoryStore())
    store.remote = True
    omnizarr.create_array(store, data=DATA, chunks=(1, 7, 8), compressors=[])
    application = Application(Site.of([store]))
    facts, values = window(application, select="2")
    np.testing.assert_array_equal(values, DATA[2])
    assert (facts["bytes_read"], facts["requests"]) == (DATA[2].nbytes, 1)


def test_large_reads_need_confirmation(application: Application, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "ASKS_FROM", 10)
    status, _, data = respond(application, "window", path="a", select="0")
    assert status == 409
    answer = json.loads(data)
    assert answer["needs_confirmation"] is True
    assert answer["cost"]["stored_bytes"] > 10
    window(application, path="a", select="0", confirm=1)
    assert respond(application, "statistics", path="a")[0] == 409
    assert ask(application, "statistics", path="a", confirm=1)["max"] == DATA.max()


@pytest.mark.parametrize("part", ["magnitude", "phase", "real", "imaginary"])
def test_complex_numbers(application: Application, part: str) -> None:
    _, values = window(application, path="complex", select=":", part=part, type="f8")
    function = {"magnitude": np.abs, "phase": np.angle, "real": np.real, "imaginary": np.imag}[part]
    np.testing.assert_allclose(values, function(np.array([3 + 4j, 1j])))


def test_nodes(application: Application) -> None:
    assert [member["path"] for member in ask(application, "tree")["members"]][:3] == ["a", "complex", "empty"]
    node = ask(application, "node", path="a")
    assert node["nature"] == "image"
    assert [each["coordinate"] for each in node["dimensions"]] == ["time", None, "x"]
    assert "a/zarr.json" in node["documents"]
    assert [level["path"] for level in ask(application, "node", path="scale/1")["levels"]] == ["scale/0", "scale/1"]
    natures = {path: ask(application, "node", path=path)["nature"] for path in ("", "complex", "names", "empty")}
    assert natures == {"": "group", "complex": "line", "names": "table", "empty": "table"}
    assert ask(application, "stored", path="a")["chunks"] == 24


def test_coordinates(application: Application) -> None:
    time = ask(application, "coordinates", path="a", dimension=0)
    assert (time["kind"], time["texts"][:2]) == ("time", ["2000-01-01", "2000-01-01T12:00:00"])
    assert ask(application, "coordinates", path="a", dimension=1)["kind"] == "none"
    lon = ask(application, "coordinates", path="a", dimension=2)
    assert (lon["kind"], lon["values"][1]) == ("longitude", 10.0)


def test_tables_samples_and_grids(application: Application) -> None:
    assert ask(application, "table", path="names")["cells"] == ["<b>", "ü"]
    assert ask(application, "table", path="a", select="0,0,1:3")["cells"] == ["1", "2"]
    sample = ask(application, "sample", path="a", select="0,:,:")
    assert sample["low"] < sample["high"]
    assert sum(sample["histogram"]) == sample["count"]
    grid = ask(application, "chunks", path="sparse", select=":,:")
    assert (grid["edges"], grid["shard_edges"]) == ([[0, 2, 4, 6, 8]] * 2, [[0, 4, 8]] * 2)
    assert [4, 8, 4, 8] in grid["absent"]
    assert [0, 2, 2, 4] in grid["absent"]
    assert [0, 2, 0, 2] not in grid["absent"]


def test_exports(application: Application) -> None:
    status, headers, data = respond(application, "export", path="a", select="0", format="npy")
    assert (status, headers["Content-Disposition"]) == (200, 'attachment; filename="a.npy"')
    np.testing.assert_array_equal(np.load(io.BytesIO(data)), DATA[0])
    lines = respond(application, "export", path="a", select="0", format="csv")[2].decode().splitlines()
    assert lines[1] == ",".join(map(str, DATA[0, 1]))
    assert respond(application, "export", path="a", format="exe")[0] == 400


@pytest.mark.parametrize(
    ("question", "parameters", "status"),
    [
        ("window", {"path": "nothing"}, 404),
        ("window", {"path": ""}, 400),
        ("window", {"path": "a", "select": "9"}, 400),
        ("window", {"path": "a", "select": "x"}, 400),
        ("window", {"path": "a", "select": "1" * 5000}, 400),
        ("window", {"path": "a", "type": "x"}, 400),
        ("window", {"path": "names"}, 400),
        ("window", {"path": "../x.zarr/a"}, 400),
        ("node", {"at": 7}, 404),
        ("node", {"at": "x"}, 400),
        ("nothing", {}, 404),
        ("coordinates", {"path": "a", "dimension": "-1"}, 400),
    ],
)
def test_bad_questions_are_refused(application: Application, question: str, parameters: Any, status: int) -> None:
    assert respond(application, question, **parameters)[0] == status


def test_the_token_is_needed_and_other_sites_get_nothing(application: Application) -> None:
    for headers, query in [({}, ""), ({"x-omnizarr-token": "wrong"}, ""), ({}, "token=wrong"), ({}, "token=ü")]:
        response = application.respond(HttpRequest("GET", "/api/site", query, {"host": "localhost"} | headers))
        assert response.status == 403
    response = application.respond(
        HttpRequest(
            "GET", "/api/site", f"token={application.token}", {"host": "localhost", "origin": "https://evil.example"}
        )
    )
    assert response.status == 200
    assert not [name for name in response.headers if name.lower().startswith("access-control")]
    preflight = application.respond(HttpRequest("OPTIONS", "/api/site", "", {"host": "localhost"}))
    assert not [name for name in preflight.headers if name.lower().startswith("access-control")]


def test_the_page_loads_nothing_from_elsewhere(application: Application) -> None:
    for name in ("/", "/viewer.js", "/viewer.css", "/icon.svg"):
        response = application.respond(HttpRequest("GET", name, "", {"host": "localhost"}))
        assert response.status == 200
        policy = response.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "http" not in policy
    assert application.respond(HttpRequest("GET", "/../page.py", "", {"host": "localhost"})).status == 404
    assert application.respond(HttpRequest("GET", "/static/viewer.js", "", {"host": "localhost"})).status == 404


@pytest.mark.parametrize("generation", generations())
@pytest.mark.filterwarnings("ignore::omnizarr.OmnizarrWarning")
def test_every_array_of_the_corpora_is_drawn_tabulated_or_the_reason_is_told(generation: str) -> None:
    for stored in all_stored(generation):
        try:
            array = omnizarr.open_array(stored.location, path=stored.expected.path, mode="r")
        except OmnizarrError:
            continue  # the tree tells the reason
        application = Application(Site.of([array]))
        node = ask(application, "node")
        question = "table" if node["nature"] == "table" else "window"
        status, _, data = respond(application, question, select="...")
        if status != 200:
            assert status == 400, (str(stored), data)
            assert json.loads(data)["error"], str(stored)
        elif question == "window":
            assert respond(application, "sample", select="...")[0] == 200, str(stored)
        assert respond(application, "chunks", select="...")[0] == 200, str(stored)


def test_two_locations(tmp_path: Path) -> None:
    for name in ("a", "b"):
        omnizarr.save_array(tmp_path / f"{name}.zarr", DATA)
    application = Application(Site.of([str(tmp_path / "a.zarr"), str(tmp_path / "b.zarr")]))
    assert [each["name"] for each in ask(application, "site")["locations"]] == ["a.zarr", "b.zarr"]
    np.testing.assert_array_equal(window(application, at=1, select="1")[1], DATA[1])


EXTREMES: dict[str, Any] = {
    "largest": [[-1.7e308, 1.7e308], [0, 1]],
    "constant float": np.full((3, 4), 1e300),
    "constant integer": np.full((3, 4), 2**62),
    "constant unsigned": np.full((3, 4), 2**64 - 1, "u8"),
    "neighbours": [[1.0, np.nextafter(1.0, 2)]],
    "subnormal": [[0, 5e-324]],
    "not finite": [[np.inf, -np.inf], [np.nan, 1e300]],
    "complex": np.array([[1e308 + 1e308j, complex(np.inf, np.nan)]]),
    "dates": np.array([["NaT", "2020-01-01"]], "M8[s]"),
}


@pytest.mark.parametrize("name", EXTREMES)
def test_extreme_values_have_windows_limits_and_a_histogram(tmp_path: Path, name: str) -> None:
    data = np.asarray(EXTREMES[name])
    omnizarr.save_array(tmp_path / "x.zarr", data)
    application = Application(Site.of([str(tmp_path / "x.zarr")]))
    facts, _ = window(application, select="...", type="f8")
    sample = ask(application, "sample", select="...")
    finite = (
        np.isfinite(data) if data.dtype.kind in "fc" else ~np.isnat(data) if data.dtype.kind == "M" else data == data
    )
    assert sum(sample["histogram"]) == finite.sum() == facts["count"] - facts["nan"]
    assert len(sample["histogram"]) == 64
    assert facts["min"] <= facts["max"]
    assert sample["min"] <= sample["low"] <= sample["high"] <= sample["max"]
    assert all(isinstance(facts[each], (int, float)) for each in ("mean", "std"))
    for viewer in ("v3", "v3-neuroglancer", "v3-webgl"):
        request = HttpRequest("GET", f"/as/{viewer}/c/0/0", "", {"host": "localhost"})
        assert application.respond(request).status == 200


@pytest.mark.parametrize("chunk", [1, 2**30])
def test_an_endless_array_is_answered_at_once(tmp_path: Path, chunk: int) -> None:
    omnizarr.create_array(tmp_path / "x.zarr", shape=(2**50, 2), chunks=(chunk, 1), dtype="u1")
    application = Application(Site.of([str(tmp_path / "x.zarr")]))
    for select in ("...", "::3,0", "::-1,0", "0,0"):
        assert ask(application, "chunks", select=select)["edges"] is not None
        assert respond(application, "cost", select=select)[0] == 200
        assert ask(application, "sample", select=select)["count"] > 0
    for question in ("window", "table", "export", "statistics"):
        status, _, data = respond(application, question, select="...")
        assert status == 400, (question, data)
        assert b"elements" in data or b"bytes" in data


@pytest.mark.parametrize("question", ["window", "table", "statistics", "export"])
def test_a_large_read_needs_a_confirmation(
    application: Application, monkeypatch: pytest.MonkeyPatch, question: str
) -> None:
    monkeypatch.setattr(windows, "ASKS_FROM", 10)
    status, _, data = respond(application, question, path="a", select="0")
    assert (status, json.loads(data)["needs_confirmation"]) == (409, True)
    assert respond(application, question, path="a", select="0", confirm=1)[0] == 200
