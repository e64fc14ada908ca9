"""`NumpyProtocol`: operators, reductions and conversions of an array, which load all of its elements.

Every operation of NumPy on an array is one read of all elements and the same operation on the result. It fails if the
array is larger than `config.max_implicit_bytes`; the error names the ways to work on parts. docs/decisions.md gives the
reasons.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np
import numpy.typing as npt

from omnizarr.config import config
from omnizarr.errors import ArgumentError, TooLargeError

__all__ = ["NumpyProtocol"]


class NumpyProtocol(ABC):
    """Base class of `Array` and of lazy views."""

    _read_call: ClassVar[str] = "z[...]"
    """How a user reads all elements, for errors."""

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]: ...

    @property
    @abstractmethod
    def ndim(self) -> int: ...

    @property
    @abstractmethod
    def size(self) -> int: ...

    @property
    @abstractmethod
    def nbytes(self) -> int: ...

    @abstractmethod
    def to_dask(self) -> Any: ...

    @abstractmethod
    def read(self) -> npt.NDArray[Any]: ...

    def _elements(self) -> npt.NDArray[Any]:
        """All elements, unless they are too large to be loaded without being asked for."""
        limit = config.implicit_bytes
        if self.nbytes > limit:
            raise TooLargeError(
                f"this operation would load all {self.nbytes} bytes of {self!r}, more than the limit of {limit}",
                hint=f"select a part, `z[:100]`; read all of it, `{self._read_call}`; compute in blocks, "
                "`z.to_dask()`; or raise the limit, `omnizarr.config.set(max_implicit_bytes=…)`",
                nbytes=self.nbytes,
            )
        return self.read()

    def take(self, indices: Any, axis: int = 0, out: Any = None) -> Any:
        """The elements at `indices` along an axis, in their order, as `numpy.take` gives them: any order, repeats and
        negative indices. Each chunk is read and decoded once.

        They are written to `out` if given, which is then returned: a NumPy array, a tensor of the processor (DLPack),
        or anything with the buffer protocol, such as shared memory.

        Example:
            >>> z.take([5, 2, 5])
            array([...])
        """
        from omnizarr.nodes.protocols.take import take_along

        return take_along(self, indices, axis, out)

    # -- conversions

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        if copy is False:
            raise ArgumentError(
                "`copy=False`: an omnizarr array is not in memory, so a NumPy array of it is always a copy",
                argument="copy",
            )
        array = self._elements()
        return array if dtype is None else array.astype(dtype, copy=False)

    def __dlpack__(self, *, copy: bool | None = None, **options: Any) -> Any:
        if copy is False:
            raise BufferError("an omnizarr array is not in memory, so a tensor of it is always a copy")
        return self._elements().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0  # the memory of the processor

    @property
    def __arrow_c_array__(self) -> Callable[..., Any]:
        """The elements for libraries with Arrow memory, such as polars, which otherwise take them one by one."""
        from importlib.util import find_spec  # lazy import: few programs have Arrow memory

        if self.ndim != 1 or find_spec("pyarrow") is None:
            raise AttributeError("`__arrow_c_array__` needs pyarrow, and an array of one dimension")

        def export(requested_schema: Any = None) -> Any:
            import pyarrow

            elements = self._elements()
            if elements.dtype == np.dtypes.StringDType():
                elements = elements.astype(object)
            return pyarrow.array(elements).__arrow_c_array__(requested_schema)

        return export

    def _scalar(self, convert: Callable[[Any], Any]) -> Any:
        if self.size != 1:
            raise TypeError(f"only an array of one element is a number, found {self!r}; read it: `{self._read_call}`")
        return convert(self._elements())

    def __float__(self) -> float:
        return float(self._scalar(lambda array: array.item()))

    def __int__(self) -> int:
        return int(self._scalar(lambda array: array.item()))

    def __complex__(self) -> complex:
        return complex(self._scalar(lambda array: array.item()))

    def __index__(self) -> int:
        return operator.index(self._scalar(lambda array: array[()] if array.ndim == 0 else array))

    def __contains__(self, value: object) -> bool:
        return value in self._elements()

    if not TYPE_CHECKING:  # so that type checkers report unknown attributes

        def __getattr__(self, name: str) -> Any:
            if any(name in vars(cls) for cls in type(self).__mro__):
                # A property raised AttributeError, for example because of a bug in a store: raise that error again.
                return object.__getattribute__(self, name)
            raise self._missing(name)

    def _missing(self, name: str) -> AttributeError:
        if not name.startswith("_") and hasattr(np.ndarray, name):
            return AttributeError(
                f"an omnizarr array has no `{name}`, because it is not in memory: read it, `{self._read_call}.{name}`, "
                "or compute in blocks, `z.to_dask()`",
                name=name,
                obj=self,
            )
        return AttributeError(f"`{type(self).__name__}` has no attribute `{name}`", name=name, obj=self)

    # -- operators

    def _apply(self, operation: Callable[[Any, Any], Any], other: Any) -> Any:
        if _is_dask(other):
            return operation(self.to_dask(), other)
        return operation(self._elements(), other._elements() if isinstance(other, NumpyProtocol) else other)

    def _reflect(self, operation: Callable[[Any, Any], Any], other: Any) -> Any:
        return operation(other, self.to_dask() if _is_dask(other) else self._elements())

    def __eq__(self, other: object) -> Any:
        """The elements that are equal, as in NumPy. `same_array` compares handles."""
        return self._apply(operator.eq, other)

    def __ne__(self, other: object) -> Any:
        return self._apply(operator.ne, other)

    __hash__ = None  # type: ignore[assignment]  # as in NumPy, because `==` compares elements

    def __lt__(self, other: Any) -> Any:
        return self._apply(operator.lt, other)

    def __le__(self, other: Any) -> Any:
        return self._apply(operator.le, other)

    def __gt__(self, other: Any) -> Any:
        return self._apply(operator.gt, other)

    def __ge__(self, other: Any) -> Any:
        return self._apply(operator.ge, other)

    def __add__(self, other: Any) -> Any:
        return self._apply(operator.add, other)

    def __radd__(self, other: Any) -> Any:
        return self._reflect(operator.add, other)

    def __sub__(self, other: Any) -> Any:
        return self._apply(operator.sub, other)

    def __rsub__(self, other: Any) -> Any:
        return self._reflect(operator.sub, other)

    def __mul__(self, other: Any) -> Any:
        return self._apply(operator.mul, other)

    def __rmul__(self, other: Any) -> Any:
        return self._reflect(operator.mul, other)

    def __matmul__(self, other: Any) -> Any:
        return self._apply(operator.matmul, other)

    def __rmatmul__(self, other: Any) -> Any:
        return self._reflect(operator.matmul, other)

    def __truediv__(self, other: Any) -> Any:
        return self._apply(operator.truediv, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._reflect(operator.truediv, other)

    def __floordiv__(self, other: Any) -> Any:
        return self._apply(operator.floordiv, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._reflect(operator.floordiv, other)

    def __mod__(self, other: Any) -> Any:
        return self._apply(operator.mod, other)

    def __rmod__(self, other: Any) -> Any:
        return self._reflect(operator.mod, other)

    def __pow__(self, other: Any) -> Any:
        return self._apply(operator.pow, other)

    def __rpow__(self, other: Any) -> Any:
        return self._reflect(operator.pow, other)

    def __lshift__(self, other: Any) -> Any:
        return self._apply(operator.lshift, other)

    def __rlshift__(self, other: Any) -> Any:
        return self._reflect(operator.lshift, other)

    def __rshift__(self, other: Any) -> Any:
        return self._apply(operator.rshift, other)

    def __rrshift__(self, other: Any) -> Any:
        return self._reflect(operator.rshift, other)

    def __and__(self, other: Any) -> Any:
        return self._apply(operator.and_, other)

    def __rand__(self, other: Any) -> Any:
        return self._reflect(operator.and_, other)

    def __or__(self, other: Any) -> Any:
        return self._apply(operator.or_, other)

    def __ror__(self, other: Any) -> Any:
        return self._reflect(operator.or_, other)

    def __xor__(self, other: Any) -> Any:
        return self._apply(operator.xor, other)

    def __rxor__(self, other: Any) -> Any:
        return self._reflect(operator.xor, other)

    def __divmod__(self, other: Any) -> Any:
        return self._apply(divmod, other)

    def __rdivmod__(self, other: Any) -> Any:
        return self._reflect(divmod, other)

    def __neg__(self) -> Any:
        return operator.neg(self._elements())

    def __pos__(self) -> Any:
        return operator.pos(self._elements())

    def __abs__(self) -> Any:
        return operator.abs(self._elements())

    def __invert__(self) -> Any:
        return operator.invert(self._elements())

    def _reject_in_place(self, other: Any) -> NoReturn:
        """`z += 1` would silently bind the name `z` to a NumPy array, and store nothing."""
        raise TypeError("an omnizarr array cannot be changed by `z += …`: write `z[...] += …`, or a part of it")

    __iadd__ = __isub__ = __imul__ = __imatmul__ = __itruediv__ = __ifloordiv__ = _reject_in_place
    __imod__ = __ipow__ = __ilshift__ = __irshift__ = __iand__ = __ior__ = __ixor__ = _reject_in_place

    def _reduce(self, name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """A reduction, from statistics if it is one of all elements."""
        if all(value is None for value in (*arguments, *options.values())):
            result = self._from_statistics(name)
            if result is not None:
                return result
        return getattr(self._elements(), name)(*arguments, **options)

    def _from_statistics(self, name: str) -> Any:
        """A reduction of all elements from the statistics of chunks; None if it must be computed."""
        return None

    # -- methods of NumPy arrays; their arguments are those of `numpy.ndarray`

    @property
    def T(self) -> npt.NDArray[Any]:
        """All elements, with the dimensions in reverse order."""
        return self._elements().T

    def all(self, *arguments: Any, **options: Any) -> Any:
        """Whether all elements are true."""
        return self._elements().all(*arguments, **options)

    def any(self, *arguments: Any, **options: Any) -> Any:
        """Whether any element is true."""
        return self._elements().any(*arguments, **options)

    def argmax(self, *arguments: Any, **options: Any) -> Any:
        """The index of the largest element."""
        return self._elements().argmax(*arguments, **options)

    def argmin(self, *arguments: Any, **options: Any) -> Any:
        """The index of the smallest element."""
        return self._elements().argmin(*arguments, **options)

    def astype(self, *arguments: Any, **options: Any) -> Any:
        """All elements, converted to a type."""
        return self._elements().astype(*arguments, **options)

    def clip(self, *arguments: Any, **options: Any) -> Any:
        """All elements, limited to an interval."""
        return self._elements().clip(*arguments, **options)

    def cumsum(self, *arguments: Any, **options: Any) -> Any:
        """The cumulative sum of the elements."""
        return self._elements().cumsum(*arguments, **options)

    def dot(self, *arguments: Any, **options: Any) -> Any:
        """The matrix product with another array."""
        return self._elements().dot(*arguments, **options)

    def item(self, *arguments: Any, **options: Any) -> Any:
        """One element as a Python object."""
        return self._elements().item(*arguments, **options)

    def max(self, *arguments: Any, **options: Any) -> Any:
        """The largest element."""
        return self._reduce("max", arguments, options)

    def mean(self, *arguments: Any, **options: Any) -> Any:
        """The mean of the elements."""
        return self._reduce("mean", arguments, options)

    def min(self, *arguments: Any, **options: Any) -> Any:
        """The smallest element."""
        return self._reduce("min", arguments, options)

    def prod(self, *arguments: Any, **options: Any) -> Any:
        """The product of the elements."""
        return self._elements().prod(*arguments, **options)

    def ravel(self, *arguments: Any, **options: Any) -> Any:
        """All elements in one dimension."""
        return self._elements().ravel(*arguments, **options)

    def reshape(self, *arguments: Any, **options: Any) -> Any:
        """All elements in another shape."""
        return self._elements().reshape(*arguments, **options)

    def round(self, *arguments: Any, **options: Any) -> Any:
        """All elements, rounded."""
        return self._elements().round(*arguments, **options)

    def squeeze(self, *arguments: Any, **options: Any) -> Any:
        """All elements, without dimensions of length 1."""
        return self._elements().squeeze(*arguments, **options)

    def std(self, *arguments: Any, **options: Any) -> Any:
        """The standard deviation of the elements."""
        return self._elements().std(*arguments, **options)

    def sum(self, *arguments: Any, **options: Any) -> Any:
        """The sum of the elements."""
        return self._elements().sum(*arguments, **options)

    def tolist(self, *arguments: Any, **options: Any) -> Any:
        """All elements as nested lists."""
        return self._elements().tolist(*arguments, **options)

    def transpose(self, *arguments: Any, **options: Any) -> Any:
        """All elements, with the dimensions in another order."""
        return self._elements().transpose(*arguments, **options)

    def var(self, *arguments: Any, **options: Any) -> Any:
        """The variance of the elements."""
        return self._elements().var(*arguments, **options)


def _is_dask(value: object) -> bool:
    """Whether a value is a dask array, without importing dask."""
    return hasattr(value, "__dask_graph__") and type(value).__module__.partition(".")[0] == "dask"
