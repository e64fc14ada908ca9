"""Decoding of consecutive compressed streams, with a limit for the decoded bytes.

Decompressors with the interface of the standard library stop at a given number of bytes. The limit is one byte more
than expected, which is enough to detect data that are too long.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from omnizarr.codecs.contract import Buffer, ByteSpec, check_size
from omnizarr.errors import CodecError

__all__ = ["decode_streams"]

_STEP = 2**16
"""Bytes of input passed to each further stream at a time. The libraries copy the input that a stream leaves over, so
passing all of it would take quadratic time if there are many tiny streams."""


def decode_streams(
    codec: str,
    data: Buffer,
    spec: ByteSpec,
    new: Callable[[], Any],
    damaged: type[Exception] | tuple[type[Exception], ...],
) -> bytes:
    """The decoded content of all streams in `data`. `new` creates a decompressor for one stream, which raises the
    errors `damaged`. Zeros may follow the last stream; any other trailing data are an error."""
    room = (spec.limit if spec.size is None else spec.size) + 1  # one more, to detect data that are too long
    try:
        stream = new()
        decoded: bytes = stream.decompress(data, room)
        if not stream.eof or stream.unused_data:
            decoded = _decode_rest(codec, data, room, new, stream, decoded)
    except CodecError:
        raise  # it is also a ValueError, which may be among `damaged`
    except damaged as error:
        raise CodecError(codec, str(error)) from None
    check_size(codec, spec, len(decoded))
    return decoded


def _decode_rest(codec: str, data: Buffer, room: int, new: Callable[[], Any], stream: Any, decoded: bytes) -> bytes:
    """All decoded bytes, after a first call of `stream` gave only `decoded`."""
    view = memoryview(data)
    pieces = [decoded]
    limit = room - 1
    room -= len(decoded)
    at = len(view) - len(stream.unused_data)
    while room:
        if not stream.eof:
            if at == len(view):
                raise CodecError(codec, "the data end in the middle of a stream")
        elif at == len(view):
            break
        elif not view[at]:
            if bytes(view[at:]).strip(b"\0"):
                raise CodecError(codec, f"expected another stream or only zeros from byte {at} on, found other data")
            break
        else:
            stream = new()
        window = view[at : at + _STEP]
        decoded = stream.decompress(window, room)
        at += len(window) - len(stream.unused_data)
        room -= len(decoded)
        pieces.append(decoded)
    if not room:
        raise CodecError(codec, f"expected {limit} bytes, found more")
    return b"".join(pieces)
