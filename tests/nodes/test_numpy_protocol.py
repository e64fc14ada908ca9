"""Operators, reductions, NumPy functions and conversions of arrays: they equal those of NumPy, or say what to do."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omnizarr
from omnizarr.errors import ArgumentError, TooLargeError
from omnizarr.nodes.numpy_protocol import NumpyProtocol
from omnizarr.store import MemoryStore

FLOATS: npt.NDArray[Any] = (np.arange(12) - 4.5).reshape(3, 4)
INTEGERS: npt.NDArray[Any] = np.arange(1, 13).reshape(3, 4)
TEXTS: npt.NDArray[Any] = np.array(["a", "bc", ""], np.dtypes.StringDType())

BINARY: tuple[Callable[[Any, Any], Any], ...] = (
    *(operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge),
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow),
    *(operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift, divmod),
)
IN_PLACE: tuple[Callable[[Any, Any], Any], ...] = (
    *(operator.iadd, operator.isub, operator.imul, operator.imatmul, operator.itruediv, operator.ifloordiv),
    *(operator.imod, operator.ipow, operator.ilshift, operator.irshift, operator.iand, operator.ior, operator.ixor),
)


def stored(data: Any) -> omnizarr.Array:
    return omnizarr.create_array(data=data, chunks=2)


@pytest.fixture(autouse=True)
def no_iteration(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails a test in which a library takes the elements one by one."""

    def fail(self: Any) -> Any:
        raise AssertionError("the array was iterated over")

    monkeypatch.setattr(omnizarr.Array, "__iter__", fail)


def outcome(act: Callable[[], Any]) -> Any:
    """The result of `act`, or the type of its error."""
    try:
        return act()
    except (TypeError, ValueError) as error:
        return type(error)


@pytest.mark.parametrize("operation", BINARY, ids=lambda operation: operation.__name__)
@pytest.mark.parametrize("other", [3, 2.5, True, np.float32(2), np.arange(4), [[1], [2], [3]], INTEGERS], ids=repr)
@pytest.mark.parametrize("data", [FLOATS, INTEGERS, FLOATS > 0], ids=["float", "int", "bool"])
def test_operators_equal_those_of_numpy(operation: Any, other: Any, data: npt.NDArray[Any]) -> None:
    z = stored(data)
    with np.errstate(all="ignore"):
        for array, expected in (
            (lambda: operation(z, other), lambda: operation(data, other)),
            (lambda: operation(other, z), lambda: operation(other, data)),
            (lambda: operation(z, stored(other)), lambda: operation(data, np.asarray(other))),
        ):
            result, truth = outcome(array), outcome(expected)
            assert type(result) is type(truth)
            np.testing.assert_array_equal(result, truth)


def test_unary_operators_and_matrix_products() -> None:
    z = stored(INTEGERS)
    for operation in (operator.neg, operator.pos, operator.abs, operator.invert):
        np.testing.assert_array_equal(operation(z), operation(INTEGERS))
    np.testing.assert_array_equal(z @ z.T, INTEGERS @ INTEGERS.T)
    np.testing.assert_array_equal(INTEGERS.T @ z, INTEGERS.T @ INTEGERS)
    np.testing.assert_array_equal([1, 2, 3] @ z, [1, 2, 3] @ INTEGERS)


def test_comparisons_are_never_silently_false() -> None:
    assert (stored(np.array([1, 3])) == 3).tolist() == [False, True]
    assert (stored(TEXTS) == "bc").tolist() == [False, True, False]
    assert (stored(INTEGERS) == None).shape == (3, 4)  # noqa: E711  as in NumPy
    with pytest.raises(ValueError, match="ambiguous"):
        bool(stored(INTEGERS) == stored(INTEGERS))
    with pytest.raises(TypeError, match="unhashable"):
        hash(stored(INTEGERS))


def test_handles_of_one_array_are_the_same() -> None:
    z = stored(INTEGERS)
    assert z.same_array(omnizarr.open_array(z.store))
    assert not z.same_array(stored(INTEGERS))
    assert not z.same_array(INTEGERS)


@pytest.mark.parametrize("operation", IN_PLACE, ids=lambda operation: operation.__name__)
def test_operators_in_place_name_the_way_to_write(operation: Any) -> None:
    z = stored(INTEGERS)
    with pytest.raises(TypeError, match=r"write `z\[...\] \+= …`"):
        operation(z, 1)
    z[...] += 1
    np.testing.assert_array_equal(z, INTEGERS + 1)


METHODS = sorted(
    name
    for name, value in vars(NumpyProtocol).items()
    if not name.startswith("_") and callable(value) and name not in ("read", "to_dask")
)
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "astype": ("f4",),
    "clip": (2, 5),
    "dot": (INTEGERS.T,),
    "item": (3,),
    "reshape": (2, -1),
    "take": ([1, 0, 1], 1),
    "transpose": (1, 0),
}


@pytest.mark.parametrize("name", METHODS)
def test_methods_equal_those_of_numpy(name: str) -> None:
    z, arguments = stored(INTEGERS), ARGUMENTS.get(name, ())
    np.testing.assert_array_equal(getattr(z, name)(*arguments), getattr(INTEGERS, name)(*arguments))
    if name in ("all", "any", "argmax", "argmin", "cumsum", "max", "mean", "min", "prod", "std", "sum", "var"):
        np.testing.assert_array_equal(getattr(z, name)(axis=1), getattr(INTEGERS, name)(axis=1))
        np.testing.assert_array_equal(getattr(np, name)(z, axis=0), getattr(np, name)(INTEGERS, axis=0))


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    **{
        name: getattr(np, name) for name in ("sin", "sort", "median", "unique", "ravel", "transpose", "squeeze", "copy")
    },
    **{name: getattr(np, name) for name in ("shape", "ndim", "size", "diff", "nonzero", "isnan", "flip", "ptp")},
    "take": lambda a: np.take(a, [0, 1]),
    "where": lambda a: np.where(a, 1, 0),
    "concatenate": lambda a: np.concatenate([a, a]),
    "stack": lambda a: np.stack([a, INTEGERS]),
    "einsum": lambda a: np.einsum("ij->i", a),
    "percentile": lambda a: np.percentile(a, 30),
    "allclose": lambda a: np.allclose(a, INTEGERS),
    "round": lambda a: round(a.mean()),
    "T": lambda a: a.T,
    "contains": lambda a: (5 in a, 50 in a),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_numpy_load_the_array(name: str) -> None:
    function = FUNCTIONS[name]
    np.testing.assert_array_equal(function(stored(INTEGERS)), function(INTEGERS))


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_random_expressions_equal_those_of_numpy(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(0, 4), max_size=3)))
    array = np.arange(int(np.prod(shape))).reshape(shape)
    z = stored(array)
    operation = data.draw(st.sampled_from([*BINARY[:9], operator.mul]))
    other = data.draw(st.sampled_from([2, z, np.ones(shape[-1:], int)]))
    expected = operation(array, array if other is z else other)
    np.testing.assert_array_equal(operation(z, other), expected)


def test_attributes_that_are_missing_name_the_way_to_have_them() -> None:
    z = stored(INTEGERS)
    for name in ("sort", "flat", "copy", "real", "strides", "tobytes", "argsort"):
        with pytest.raises(AttributeError, match=rf"`z\[...\].{name}`.*`z.to_dask\(\)`"):
            getattr(z, name)
    with pytest.raises(AttributeError, match="`Array` has no attribute `meen`"):
        _ = z.meen
    assert not hasattr(z, "copy")  # dask would call it, and load the array


def test_an_attribute_error_inside_a_property_is_shown() -> None:
    class Faulty(MemoryStore):
        @property
        def location(self) -> str:
            return self.no_such_attribute  # type: ignore[attr-defined, no-any-return]

    z = omnizarr.create_array(Faulty(), shape=3, dtype="i4")
    with pytest.raises(AttributeError, match="'Faulty' object has no attribute 'no_such_attribute'"):
        z[...] = 1


def test_numbers() -> None:
    z = stored(np.array(7))
    assert (float(z), int(z), complex(z), list(range(z))) == (7.0, 7, 7 + 0j, list(range(7)))  # type: ignore[arg-type]
    assert float(stored(np.array([[2.5]]))) == 2.5
    for convert in (float, int, complex):
        with pytest.raises(TypeError, match=r"only an array of one element is a number.*`z\[...\]`"):
            convert(stored(INTEGERS))


def test_large_arrays_are_not_loaded_implicitly() -> None:
    z = omnizarr.create_array(shape=(2**40, 2**20), chunks=(2**20, 1), dtype="f8")
    operations: tuple[Callable[[], Any], ...] = (
        *(lambda: z + 1, lambda: 1 + z, lambda: np.ones(2**20) + z, lambda: z == 3, lambda: z @ [1], lambda: -z),
        *(lambda: z.mean(), lambda: np.mean(z), lambda: np.sin(z), lambda: np.asarray(z), lambda: z.T, lambda: 3 in z),
        lambda: np.from_dlpack(z),  # type: ignore[arg-type]
    )
    for operation in operations:
        with pytest.raises(TooLargeError, match=r"`z\[...\]`.*`z.to_dask\(\)`.*max_implicit_bytes") as caught:
            operation()
        assert caught.value.nbytes == 2**63
    small = stored(INTEGERS)
    with omnizarr.config(max_implicit_bytes=95), pytest.raises(TooLargeError):
        _ = small + 1
    with omnizarr.config(max_implicit_bytes=96):
        assert (small + 1).sum() == INTEGERS.sum() + 12
        assert small[...].nbytes == 96


def test_dlpack() -> None:
    z = stored(FLOATS)
    np.testing.assert_array_equal(np.from_dlpack(z), FLOATS)  # type: ignore[arg-type]
    assert z.__dlpack_device__() == (1, 0)
    with pytest.raises(BufferError, match="always a copy"):
        z.__dlpack__(copy=False)
    with pytest.raises(ArgumentError, match="always a copy"):
        np.asarray(z, copy=False)


def test_arrow_memory() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    for data in (np.arange(5, dtype="i2"), TEXTS, np.array(["2001-02-03"], "M8[s]"), np.array([True, False])):
        assert pyarrow.array(stored(data)).to_pylist() == data.tolist()
    assert not hasattr(stored(FLOATS), "__arrow_c_array__")


def test_polars_takes_the_elements_at_once() -> None:
    polars = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    assert polars.Series(stored(np.arange(5, dtype="i2"))).to_list() == [0, 1, 2, 3, 4]


def test_torch_takes_the_elements_at_once() -> None:
    torch = pytest.importorskip("torch")
    assert torch.as_tensor(stored(FLOATS)).sum() == FLOATS.sum()


def test_dask_stays_lazy() -> None:
    da = pytest.importorskip("dask.array")
    z, x = stored(INTEGERS), da.from_array(FLOATS, chunks=2)
    for operation in (operator.add, operator.eq, operator.matmul):
        left, right = (x, z) if operation is not operator.matmul else (x, stored(INTEGERS.T))
        expected = operation(FLOATS, right[...])
        for result in (
            (operation(left, right), operation(right, left))
            if operation is not operator.matmul
            else (operation(left, right),)
        ):
            assert isinstance(result, da.Array)
            np.testing.assert_array_equal(result, expected)


def test_keys_are_completed() -> None:
    group = omnizarr.create_group()
    group.create_array("temperature", data=np.zeros(1, [("day", "i4"), ("value", "f4")]))
    group.create_group("other")
    assert group._ipython_key_completions_() == ["other", "temperature"]
    assert group["temperature"]._ipython_key_completions_() == ["day", "value"]
    assert stored(FLOATS)._ipython_key_completions_() == []
