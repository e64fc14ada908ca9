"""zarr-python and TensorStore read `/as/v3` and `/as/v2` of every generation over HTTP, and get equal values."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
import omnizarr.serve
from tests.corpora.reading import all_stored
from tests.peers.environments import find

GENERATIONS: list[Any] = [1, 2, 3, "3-draft-2020", "3-draft-2022", "n5"]
READER = Path(__file__).with_name("http_reader.py")
VIEWER = Path(__file__).resolve().parents[3] / "viewer"
DATA = np.arange(7 * 11, dtype="int32").reshape(7, 11)


def read_all(jobs: list[dict[str, Any]], results: Path) -> list[Any]:
    """The elements, or the error as text, for each job."""
    environment = find("zarr3")
    if environment is None:
        pytest.skip("the environment `zarr3` of other implementations is not installed; run `make peers`")
    run = subprocess.run(
        [str(environment.python), str(READER), str(results)],
        input="".join(json.dumps(job) + "\n" for job in jobs),
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    answers = [json.loads(line) for line in run.stdout.splitlines()]
    assert len(answers) == len(jobs), run.stderr
    return [
        np.load(results / f"{number}.npy", allow_pickle=True) if answer is None else answer
        for number, answer in enumerate(answers)
    ]


def make(place: Path, generation: Any) -> None:
    """Arrays of several types and codecs, in a group where the generation has groups."""
    if generation == 1:
        z = omnizarr.create_array(place, shape=DATA.shape, chunks=(3, 4), dtype="int32", zarr_format=1)
        z[:5] = DATA[:5]  # some chunks stay absent
        return
    group = omnizarr.create_group(place, zarr_format=generation, attributes={"title": "x"})
    z = group.create_array("a/b", shape=DATA.shape, chunks=(3, 4), dtype="int32", dimension_names=["y", "x"])
    z[:5] = DATA[:5]
    group.create_array("f", data=DATA / 7, chunks=(4, 4), compressors=[omnizarr.codecs.Gzip(1)])
    if generation not in (3, "n5"):
        group.create_array("order", data=DATA, chunks=(4, 5), order="F")
    if generation in (3, "3-draft-2022"):
        group.create_array("shards", data=DATA, chunks=(2, 3), shards=(4, 6))


@pytest.mark.parametrize("generation", GENERATIONS, ids=str)
def test_peers_read_every_generation(tmp_path: Path, generation: Any) -> None:
    make(tmp_path / "x.zarr", generation)
    node = omnizarr.open(tmp_path / "x.zarr", mode="r")
    arrays = (
        {"": node}
        if generation == 1
        else {path: each for path, each in node.members(max_depth=None) if isinstance(each, omnizarr.Array)}
    )
    (tmp_path / "results").mkdir()
    with omnizarr.serve.start(str(tmp_path / "x.zarr")) as server:
        jobs = [
            {"library": library, "url": f"{server.address}as/v{shown}", "path": path, "format": shown}
            for shown in (3, 2)
            for library in ("zarr", "tensorstore")
            for path in arrays
        ]
        results = read_all(jobs, tmp_path / "results")
    for job, result in zip(jobs, results, strict=True):
        expected = arrays[job["path"]][...]
        assert isinstance(result, np.ndarray), (job, result)
        np.testing.assert_array_equal(result, expected, err_msg=str(job))


@pytest.mark.parametrize("generation", ["v1", "v2", "draft-2020", "n5"])
@pytest.mark.filterwarnings("ignore::omnizarr.OmnizarrWarning")
def test_peers_read_what_old_programs_wrote(tmp_path: Path, generation: str) -> None:
    """A sample of the corpora. A peer may lack a data type; what it reads must be equal."""
    stored = [each for each in all_stored(generation) if each.expected.elements is not None][::5][:24]
    stored = [each for each in stored if not each.expected.marks & {"shards-lost", "reject", "unreadable"}]
    arrays = [omnizarr.open_array(each.location, path=each.expected.path, mode="r") for each in stored]
    (tmp_path / "results").mkdir()
    servers, jobs = [], []
    for array in arrays:
        servers.append(omnizarr.serve.start(array))
        for shown in (3, 2):
            address = f"{servers[-1].address}as/v{shown}"
            jobs.append({"library": "zarr", "url": address, "path": "", "format": shown})
    try:
        results = read_all(jobs, tmp_path / "results")
    finally:
        for server in servers:
            server.stop()
    equal = 0
    for number, result in enumerate(results):
        if not isinstance(result, np.ndarray):
            assert "assert" not in result
            continue
        array, each = arrays[number // 2], stored[number // 2]
        expected = array[...]
        if expected.dtype.kind in "OT" or result.dtype.kind in "OT":
            texts = [(str(shown), value) for shown, value in zip(result.ravel(), expected.ravel(), strict=True)]
            same = all(shown == value for shown, value in texts if isinstance(value, str))
        elif expected.dtype.names is not None or expected.dtype.kind == "V":
            same = result.shape == expected.shape
        else:
            same = np.array_equal(result, expected, equal_nan=expected.dtype.kind in "fcmM")
        assert same, f"{each}: {result.ravel()[:5]} instead of {expected.ravel()[:5]}"
        equal += 1
    assert equal >= 0.8 * len(results), [result for result in results if isinstance(result, str)][:5]


@pytest.mark.parametrize("generation", GENERATIONS, ids=str)
def test_zarrita_reads_every_generation(tmp_path: Path, generation: Any) -> None:
    if shutil.which("node") is None or not (VIEWER / "node_modules" / "zarrita").exists():
        pytest.skip("Node.js or the npm package `zarrita` is not installed; run `make browser`")
    make(tmp_path / "x.zarr", generation)
    node = omnizarr.open(tmp_path / "x.zarr", mode="r")
    members = [("", node)] if generation == 1 else node.members(max_depth=None)
    arrays = {path: each for path, each in members if isinstance(each, omnizarr.Array)}
    with omnizarr.serve.start(str(tmp_path / "x.zarr")) as server:
        jobs = [
            {"url": f"{server.address}as/v{shown}", "path": path, "format": shown}
            for shown in (3, 2)
            for path in arrays
        ]
        run = subprocess.run(
            ["node", "tests/zarrita_reader.mjs"],
            input=json.dumps(jobs),
            cwd=VIEWER,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
    assert run.returncode == 0, run.stderr
    for job, result in zip(jobs, json.loads(run.stdout), strict=True):
        assert "error" not in result, (job, result)
        expected = arrays[job["path"]][...]
        assert result["shape"] == list(expected.shape)
        np.testing.assert_array_equal(
            np.array(result["values"]), _in_order(expected, result["values"]), err_msg=str(job)
        )


def _in_order(expected: Any, values: list[Any]) -> Any:
    """The elements in the order of zarrita.js, which keeps the F order of an array of v2 or a transposed one."""
    flat = expected.reshape(-1)
    return flat if np.array_equal(np.array(values), flat) else expected.reshape(-1, order="F")
