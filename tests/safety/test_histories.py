"""Promise 1 and 2: a short sample of random histories. `make soak` runs more of them, for as long as you like."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.safety.histories import LAYOUTS, STORES, WRAPPERS, WRITERS, run
from tests.servers.proxy import proxy
from tests.servers.running import RunningServer, moto

STEPS = 25


def wrappers(seed: int) -> list[str]:
    return Random(seed).sample(list(WRAPPERS), WRITERS)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_processes_lose_no_write_in_a_folder(tmp_path: Path, layout: str) -> None:
    seed = list(LAYOUTS).index(layout)
    assert run(tmp_path, "folder", str(tmp_path / "data"), layout, wrappers(seed), seed, STEPS) == []


@pytest.mark.parametrize("layout", ["chunks", "shards", "stacked draft shards", "content-addressed", "versions"])
@pytest.mark.parametrize("kind", ["SQLite", "memory"])
def test_writers_lose_no_write_in_a_database_and_in_memory(tmp_path: Path, kind: str, layout: str) -> None:
    seed = list(LAYOUTS).index(layout)
    assert run(tmp_path, kind, str(tmp_path / "data"), layout, wrappers(seed), seed, STEPS) == []


@pytest.mark.parametrize("layout", ["chunks", "shards", "draft shards", "shards in shards"])
@pytest.mark.parametrize("kind", ["fsspec", "mapping", "folder without locks"])
def test_threads_lose_no_write_in_stores_without_compare_and_set(tmp_path: Path, kind: str, layout: str) -> None:
    seed = list(LAYOUTS).index(layout)
    assert run(tmp_path, kind, str(tmp_path / "data"), layout, ["plain", "below", "cache"], seed, STEPS) == []


def test_locks_and_compare_and_set_agree_in_a_folder(tmp_path: Path) -> None:
    names = ["no capabilities", "plain", "no capabilities"]
    assert run(tmp_path, "folder", str(tmp_path / "data"), "shards", names, 2, STEPS) == []


@pytest.mark.parametrize("kind", [kind for kind in STORES if "ZIP" in kind])
def test_processes_that_take_turns_lose_no_write_in_an_archive(tmp_path: Path, kind: str) -> None:
    names = ["plain", "cache", "prefix"]
    assert run(tmp_path, kind, str(tmp_path / "data"), "shards", names, 1, 8) == []


@pytest.mark.parametrize("layout", ["chunks", "shards", "versions"])
@pytest.mark.parametrize("kind", ["folder", "SQLite"])
def test_killed_processes_lose_no_write(tmp_path: Path, kind: str, layout: str) -> None:
    names = ["plain", "cache", "prefix"]
    assert run(tmp_path, kind, str(tmp_path / "data"), layout, names, 7, STEPS, kills=True) == []


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with moto(tmp_path_factory.mktemp("moto")) as running:
        yield running


@pytest.mark.parametrize("layout", ["shards", "stacked draft shards"])
def test_processes_lose_no_write_in_a_bucket(tmp_path: Path, server: RunningServer, layout: str) -> None:
    place: Any = (server.new(), server.options)
    assert run(tmp_path, "S3", place, layout, ["plain", "cache", "prefix"], 3, 12) == []


@pytest.mark.parametrize("status", [0, 503])
def test_processes_lose_no_write_if_answers_of_a_bucket_are_lost(
    tmp_path: Path, server: RunningServer, status: int
) -> None:
    with proxy(server.endpoint, seed=5) as between:
        between.faults.lose, between.faults.lost_as = 0.25, status
        place: Any = (server.new(), server.through(between.endpoint), server.options)
        assert run(tmp_path, "S3", place, "shards", ["plain", "cache", "prefix"], 4, 6) == []
        assert between.lost
