"""Loaders in the workers of PyTorch's DataLoader. `make test-torch` makes an environment with PyTorch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import ArgumentError

torch = pytest.importorskip("torch", reason="needs PyTorch: make test-torch")
data = pytest.importorskip("torch.utils.data", reason="needs PyTorch: make test-torch")

pytestmark = pytest.mark.filterwarnings("ignore::Warning")  # of PyTorch, about itself and few cores

SMALL = {"block_bytes": 400, "buffer_bytes": 40_000}
COUNT = 1000


@pytest.fixture
def arrays(tmp_path: Path) -> dict[str, omnizarr.Array]:
    elements = np.arange(COUNT * 4, dtype="f4").reshape(COUNT, 4)
    group = omnizarr.create_group(tmp_path)
    return {
        "x": group.create_array("x", data=elements, chunks=(16, 4)),
        "y": group.create_array("y", data=np.arange(COUNT), chunks=(300,)),
    }


def rows(batches: Any) -> list[int]:
    result = []
    for batch in batches:
        assert torch.equal(batch["x"][:, 0], batch["y"] * 4.0)
        result += batch["y"].tolist()
    return result


def test_a_loader_is_an_iterable_dataset(arrays: Any) -> None:
    loader = omnizarr.loader(arrays, 10)
    assert isinstance(loader, data.IterableDataset)
    assert isinstance(loader, omnizarr.loaders.Loader)
    assert not isinstance(loader.samples, data.IterableDataset)


@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_give_all_samples(arrays: Any, workers: int, method: str) -> None:
    if method == "spawn" and workers != 3:
        pytest.skip("one number of spawned workers is enough: each imports PyTorch")
    loader = omnizarr.loader(arrays, 30, shuffle=True, **SMALL)
    context = method if workers else None
    batches = data.DataLoader(loader, batch_size=None, num_workers=workers, multiprocessing_context=context)
    assert len(batches) == 34
    first = rows(batches)
    assert sorted(first) == list(range(COUNT))
    loader.set_epoch(1)
    second = rows(batches)
    assert sorted(second) == list(range(COUNT))
    assert second != first
    loader.set_epoch(0)
    assert rows(batches) == first


def test_workers_that_stay_go_on_to_the_next_epoch(arrays: Any) -> None:
    loader = omnizarr.loader(arrays, 30, shuffle=True, **SMALL)
    batches = data.DataLoader(loader, batch_size=None, num_workers=2, persistent_workers=True)
    first, second = rows(batches), rows(batches)
    assert sorted(first) == sorted(second) == list(range(COUNT))
    assert first != second
    loader.set_epoch(0)
    assert rows(batches) == first
    loader.set_epoch(1)
    assert rows(batches) == second


def test_single_samples_for_the_batches_of_the_data_loader(arrays: Any) -> None:
    loader = omnizarr.loader(arrays, shuffle=True, **SMALL)
    batches = data.DataLoader(loader, batch_size=64, num_workers=2)
    assert sorted(rows(batches)) == list(range(COUNT))


@pytest.mark.parametrize("received", [0, 1, 7, 33])
def test_a_data_loader_continues_in_the_middle(arrays: Any, received: int) -> None:
    def make() -> tuple[Any, Any]:
        loader = omnizarr.loader(arrays, 30, shuffle=True, **SMALL)
        loader.set_epoch(2)
        return loader, data.DataLoader(loader, batch_size=None, num_workers=3)

    loader, batches = make()
    whole = [batch["y"].tolist() for batch in batches]
    state = loader.state_dict(batches=received, workers=3)
    loader, batches = make()
    loader.load_state_dict(state)
    assert [batch["y"].tolist() for batch in batches] == whole[received:]
    loader, _ = make()
    loader.load_state_dict(state)
    with pytest.raises(ArgumentError, match="workers"):
        list(data.DataLoader(loader, batch_size=None, num_workers=2))


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("received", [0, 5, 20])
def test_the_stateful_data_loader(arrays: Any, workers: int, received: int) -> None:
    stateful = pytest.importorskip("torchdata.stateful_dataloader", reason="needs torchdata: make test-torch")

    def make() -> Any:
        loader = omnizarr.loader(arrays, 30, shuffle=True, **SMALL)
        return stateful.StatefulDataLoader(loader, batch_size=None, num_workers=workers)

    whole = [batch["y"].tolist() for batch in make()]
    batches = make()
    iterator = iter(batches)
    given = [next(iterator)["y"].tolist() for _ in range(received)]
    state = batches.state_dict()
    resumed = make()
    resumed.load_state_dict(state)
    assert given + [batch["y"].tolist() for batch in resumed] == whole


def test_samples_by_number_with_a_sampler(arrays: Any) -> None:
    samples = omnizarr.loader(arrays).samples
    for workers in (0, 2):
        batches = data.DataLoader(samples, batch_size=50, shuffle=True, num_workers=workers)
        assert sorted(rows(batches)) == list(range(COUNT))
    sampler = data.DistributedSampler(samples, num_replicas=2, rank=1)
    assert len(rows(data.DataLoader(samples, batch_size=50, sampler=sampler))) == 500


def test_take_writes_to_tensors(arrays: Any) -> None:
    x, y = arrays["x"], arrays["y"]
    shared = torch.zeros((3, 4)).share_memory_()
    assert x.take([5, 5, 0], out=shared) is shared
    assert shared[:, 0].tolist() == [20, 20, 0]
    outputs = [torch.zeros((2, 4)), torch.zeros(2, dtype=torch.int64)]
    omnizarr.take([x, y], [999, 1], out=outputs)
    assert outputs[1].tolist() == [999, 1]
    assert outputs[0][:, 0].tolist() == [3996, 4]
    with pytest.raises(ArgumentError, match="`out`"):
        x.take([1], out=torch.zeros((1, 5)))


RANKS = """
import os, sys, torch, torch.distributed as dist
import omnizarr
loader = omnizarr.loader(sys.argv[1], 10)
dist.init_process_group("gloo", rank=int(sys.argv[2]), world_size=2, init_method=f"file://{sys.argv[3]}")
batches = torch.utils.data.DataLoader(loader, batch_size=None, num_workers=1, multiprocessing_context="spawn")
if __name__ == "__main__":
    print(sum(int(batch.sum()) for batch in batches), len(loader))
    dist.destroy_process_group()
"""


def test_ranks_of_torch_distributed(tmp_path: Path) -> None:
    omnizarr.save_array(tmp_path / "z", np.arange(100))
    program = tmp_path / "program.py"
    program.write_text(RANKS.replace("dist.init", "if __name__ == '__main__': dist.init", 1))
    command = [sys.executable, program, tmp_path / "z"]
    processes = [
        subprocess.Popen([*command, str(rank), tmp_path / "meeting"], stdout=subprocess.PIPE, text=True)
        for rank in range(2)
    ]
    assert [process.communicate(timeout=120)[0].split() for process in processes] == [["1225", "5"], ["3725", "5"]]
