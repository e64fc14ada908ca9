"""Quick checks of an installed package: each codec library, shards, groups and the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import omnizarr
from omnizarr.codecs import Blosc, Codec, Crc32c, Gzip, Zstd

pytestmark = pytest.mark.smoke

DATA = np.arange(5000, dtype="int32").reshape(50, 100)


@pytest.mark.parametrize("codec", [Blosc(), Crc32c(), Gzip(), Zstd()], ids=lambda codec: codec.name)
@pytest.mark.parametrize("shards", [None, (40, 60)], ids=["chunks", "shards"])
def test_every_codec_library_works(tmp_path: Path, codec: Codec, shards: tuple[int, int] | None) -> None:
    place = tmp_path / "data.zarr"
    omnizarr.create_array(place, data=DATA, chunks=(20, 30), shards=shards, compressors=[codec])
    found = omnizarr.open_array(place, mode="r")
    np.testing.assert_array_equal(found[...], DATA)
    np.testing.assert_array_equal(found[3:47:5, -7], DATA[3:47:5, -7])


def test_a_group_holds_arrays_and_attributes(tmp_path: Path) -> None:
    omnizarr.save_group(tmp_path / "data.zarr", temperature=DATA)
    group = omnizarr.open_group(tmp_path / "data.zarr", mode="r+")
    group.attrs["place"] = "here"
    again = omnizarr.open_group(tmp_path / "data.zarr", mode="r")
    assert sorted(again) == ["temperature"]
    assert dict(again.attrs) == {"place": "here"}


def test_the_command_line_answers() -> None:
    code = "from omnizarr.cli import main; main(['--help'])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "Usage" in result.stdout
