"""Settings: where they come from, how long they hold, and for whom."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import fields

import pytest

import omnizarr
from omnizarr.config import Config, Settings
from omnizarr.errors import ArgumentError

config = omnizarr.config


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = {field.name: getattr(config, field.name) for field in fields(Settings)}
    yield
    config.set(**before)


def test_a_block_changes_settings_and_puts_them_back() -> None:
    before = config.threads
    with config(threads=before + 3) as settings:
        assert settings.threads == config.threads == before + 3
        with config(max_chunk_bytes=5):
            assert (config.threads, config.max_chunk_bytes) == (before + 3, 5)
        assert config.max_chunk_bytes != 5
    assert config.threads == before


def test_a_block_puts_them_back_after_an_error() -> None:
    before = config.threads
    with pytest.raises(RuntimeError), config(threads=before + 1):
        raise RuntimeError
    assert config.threads == before


def test_one_block_may_be_entered_again() -> None:
    block = config(threads=7)
    for _ in range(2):
        with block, block:
            assert config.threads == 7
    assert config.threads != 7


def test_set_holds_for_the_process_and_for_other_threads() -> None:
    config.set(threads=5)
    assert _seen_elsewhere() == 5


def test_a_block_holds_for_its_own_thread_only() -> None:
    before = config.threads
    with config(threads=before + 4):
        assert _seen_elsewhere() == before


def test_a_block_holds_in_the_threads_that_work_for_it() -> None:
    z = omnizarr.create_array(None, shape=(64, 10_000), dtype="int32", chunks=(1, 10_000), compressors="gzip")
    z[...] = 1
    config.set(max_chunk_bytes=100, threads=4)
    with config(max_chunk_bytes=10**6):
        for _ in range(5):
            assert z[...].sum() == z.size


def _seen_elsewhere() -> int:
    seen: list[int] = []
    thread = threading.Thread(target=lambda: seen.append(config.threads))
    thread.start()
    thread.join()
    return seen[0]


def test_set_inside_a_block_is_refused() -> None:
    with config(threads=2), pytest.raises(ArgumentError, match="undone"):
        config.set(threads=3)


@pytest.mark.parametrize("value", [-1, 1.5, "2", None, True])
def test_values_are_checked(value: object) -> None:
    with pytest.raises(ArgumentError, match="threads") as caught:
        config.set(threads=value)  # type: ignore[arg-type]
    assert caught.value.argument == "threads"
    with pytest.raises(ArgumentError):
        config(threads=value)  # type: ignore[arg-type]


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ArgumentError, match="unknown setting `thread`"):
        config.set(thread=1)
    with pytest.raises(ArgumentError, match="unknown setting `thread`"):
        config(thread=1)
    with pytest.raises(AttributeError, match="unknown setting `thread`"):
        _ = config.thread


def test_assigning_is_refused_because_it_would_change_nothing() -> None:
    with pytest.raises(AttributeError, match="config.set"):
        config.threads = 3


def test_workers_are_the_threads_or_one_per_core() -> None:
    assert Settings(threads=3).workers == 3
    assert Settings(threads=0).workers >= 1


def test_the_names_are_listed_and_shown() -> None:
    assert {field.name for field in fields(Settings)} <= set(dir(config))
    assert "max_chunk_bytes" in repr(config)
    assert isinstance(config, Config)


def _in_a_new_process(statement: str, **environment: str) -> subprocess.CompletedProcess[str]:
    code = f"import omnizarr\n{statement}"
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )


def test_the_environment_sets_where_settings_start() -> None:
    result = _in_a_new_process(
        "c = omnizarr.config; print(c.threads, c.max_chunk_bytes, c.max_document_bytes)",
        OMNIZARR_THREADS="3",
        OMNIZARR_MAX_CHUNK_BYTES="1000",
        OMNIZARR_MAX_DOCUMENT_BYTES="2000",
    )
    assert result.stdout.split() == ["3", "1000", "2000"]


def test_a_wrong_environment_is_our_own_error_when_it_is_read() -> None:
    result = _in_a_new_process(
        "try:\n    omnizarr.config.threads\nexcept omnizarr.OmnizarrError as error:\n    print(error)",
        OMNIZARR_THREADS="many",
    )
    assert "OMNIZARR_THREADS" in result.stdout
    assert "many" in result.stdout
