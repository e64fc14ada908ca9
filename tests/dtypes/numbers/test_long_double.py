"""Long doubles, which v2 stores in their memory layout."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.peers import Peer

import omnizarr
from omnizarr._json import Problems
from omnizarr.dtypes import data_type_of
from omnizarr.dtypes.numbers.long_double import ComplexLongDouble, LongDouble
from omnizarr.errors import ArgumentError

pytestmark = pytest.mark.skipif(np.dtype(np.longdouble).itemsize != 16, reason="they have other sizes here")

THIRDS = np.arange(6).reshape(2, 3) / np.longdouble(3)


@pytest.mark.parametrize("zarr_format", [1, 2])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f16", ">f16", "<c32", ">c32"])
def test_values_survive_bit_for_bit(dtype: str, order: Any, zarr_format: Any) -> None:
    store = omnizarr.MemoryStore()
    data = THIRDS.astype(dtype)
    omnizarr.create_array(store, data=data, dtype=dtype, chunks=(1, 2), order=order, zarr_format=zarr_format)
    z = omnizarr.open_array(store)
    assert z.dtype == np.dtype(dtype).newbyteorder("=")
    assert (z[...] == data).all()
    assert z[0, 1] != 1 / 3
    z.resize((3, 3))
    z.attrs["a"] = 1
    assert omnizarr.open_array(store).same_array(z)


@pytest.mark.parametrize("dtype", ["<f16", ">c32"])
def test_zarr_python_2_reads_them(zarr2_peer: Peer, tmp_path: Any, dtype: str) -> None:
    data = THIRDS.astype(dtype)
    omnizarr.create_array(tmp_path, data=data, dtype=dtype, fill_value=0.5, zarr_format=2)
    assert (zarr2_peer.read("zarr2", tmp_path) == data).all()


@pytest.mark.parametrize("zarr_format", ["3-draft-2020", "3-draft-2022", 3])
@pytest.mark.parametrize("dtype", ["<f16", "<c32"])
def test_other_generations_reject_them(dtype: str, zarr_format: Any) -> None:
    with pytest.raises(ArgumentError, match="has no data type"):
        omnizarr.create_array(None, shape=3, dtype=dtype, zarr_format=zarr_format)


@pytest.mark.parametrize("spelling", [0.1, -2.0, "NaN", "Infinity", "-Infinity"])
def test_fill_values_are_doubles(spelling: Any) -> None:
    plain, pair = data_type_of("longdouble"), data_type_of("clongdouble")
    assert isinstance(plain, LongDouble)
    assert isinstance(pair, ComplexLongDouble)
    for kind, value in ((plain, spelling), (pair, [spelling, 0.0])):
        problems = Problems()
        fill = kind.parse_fill(value, "$", problems)
        assert fill is not None
        assert (fill.dtype, kind.dump_fill(fill), problems.found) == (kind.dtype, value, [])
        assert kind.dump_fill(kind.cast_fill(fill)) == value


def test_fill_values_beyond_the_range_of_a_double() -> None:
    kind = data_type_of("longdouble")
    assert kind.dump_fill(kind.cast_fill(np.longdouble(1) / 3)) == 1 / 3
    with pytest.raises(ArgumentError, match="exceeds the range of a double"):
        kind.cast_fill(np.longdouble("1e4000"))
    for spelling in ("0x" + 32 * "0", "1.5", 10**400, None, True):
        assert kind.parse_fill(spelling, "$", Problems()) is None
