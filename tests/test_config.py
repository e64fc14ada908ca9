"""Settings: where they come from, and for which threads and how long they apply."""

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
def _restore_settings() -> Iterator[None]:
    before = {field.name: getattr(config, field.name) for field in fields(Settings)}
    yield
    config.set(**before)


def test_a_block_changes_settings_and_restores_them() -> None:
    before = config.threads
    with config(threads=before + 3) as settings:
        assert settings.threads == config.threads == before + 3
        with config(max_chunk_bytes=5):
            assert (config.threads, config.max_chunk_bytes) == (before + 3, 5)
        assert config.max_chunk_bytes != 5
    assert config.threads == before


def test_a_block_restores_settings_after_an_error() -> None:
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


def test_set_applies_to_all_threads_of_the_process() -> None:
    config.set(threads=5)
    assert _threads_in_another_thread() == 5


def test_a_block_applies_to_its_own_thread_only() -> None:
    before = config.threads
    with config(threads=before + 4):
        assert _threads_in_another_thread() == before


def test_a_block_applies_to_its_worker_threads() -> None:
    z = omnizarr.create_array(None, shape=(64, 10_000), dtype="int32", chunks=(1, 10_000), compressors="gzip")
    z[...] = 1
    config.set(max_chunk_bytes=100, threads=4)
    with config(max_chunk_bytes=10**6):
        for _ in range(5):
            assert z[...].sum() == z.size


def _threads_in_another_thread() -> int:
    seen: list[int] = []
    thread = threading.Thread(target=lambda: seen.append(config.threads))
    thread.start()
    thread.join()
    return seen[0]


def test_set_inside_a_block_is_rejected() -> None:
    with config(threads=2), pytest.raises(ArgumentError, match="no effect inside a `with config"):
        config.set(threads=3)


@pytest.mark.parametrize("value", [-1, 1.5, "2", None, True])
def test_values_are_checked(value: object) -> None:
    with pytest.raises(ArgumentError, match="threads") as caught:
        config.set(threads=value)  # type: ignore[arg-type]
    assert caught.value.argument == "threads"
    with pytest.raises(ArgumentError):
        config(threads=value)  # type: ignore[arg-type]


def test_unknown_names_are_rejected() -> None:
    with pytest.raises(ArgumentError, match="unknown setting `thread`"):
        config.set(thread=1)
    with pytest.raises(ArgumentError, match="unknown setting `thread`"):
        config(thread=1)
    with pytest.raises(AttributeError, match="unknown setting `thread`"):
        _ = config.thread


def test_assigning_is_rejected_because_it_would_change_nothing() -> None:
    with pytest.raises(AttributeError, match="config.set"):
        config.threads = 3


def test_workers_is_threads_or_the_number_of_cores() -> None:
    assert Settings(threads=3).workers == 3
    assert Settings(threads=0).workers >= 1


def test_dir_and_repr_show_the_settings() -> None:
    assert {field.name for field in fields(Settings)} <= set(dir(config))
    assert "max_chunk_bytes" in repr(config)
    assert isinstance(config, Config)


def _in_a_new_process(statement: str, **environment: str) -> subprocess.CompletedProcess[str]:
    code = f"import omnizarr\n{statement}"
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )


def test_the_environment_sets_the_initial_values() -> None:
    result = _in_a_new_process(
        "c = omnizarr.config; print(c.threads, c.max_chunk_bytes, c.max_document_bytes)",
        OMNIZARR_THREADS="3",
        OMNIZARR_MAX_CHUNK_BYTES="1000",
        OMNIZARR_MAX_DOCUMENT_BYTES="2000",
    )
    assert result.stdout.split() == ["3", "1000", "2000"]


def test_an_invalid_environment_variable_is_an_omnizarr_error() -> None:
    result = _in_a_new_process(
        "try:\n    omnizarr.config.threads\nexcept omnizarr.OmnizarrError as error:\n    print(error)",
        OMNIZARR_THREADS="many",
    )
    assert "OMNIZARR_THREADS" in result.stdout
    assert "many" in result.stdout
