"""Decoding compressed streams that stand one behind the other, never to more bytes than are expected.

The decompressors of the standard library, and those that are made like them, stop when they have given as many bytes as
they may; one more than is expected is enough to know that there are too many.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from omnizarr.codecs.contract import Buffer, ByteSpec, check_size
from omnizarr.errors import CodecError

__all__ = ["decode_streams"]

_STEP = 2**16
"""How much input further streams are fed at a time: the libraries copy what a stream leaves over, and with all of the
rest at each of many tiny streams that would take quadratic time."""


def decode_streams(
    codec: str,
    data: Buffer,
    spec: ByteSpec,
    new: Callable[[], Any],
    damaged: type[Exception] | tuple[type[Exception], ...],
) -> bytes:
    """What all streams in `data` hold together. `new` makes a decompressor for one stream, and `damaged` are the errors
    that it raises. Zeros may follow the last stream; any other rest is an error."""
    room = (spec.limit if spec.size is None else spec.size) + 1  # one more, to notice what is too long
    try:
        stream = new()
        piece: bytes = stream.decompress(data, room)
        if not stream.eof or stream.unused_data:
            piece = _rest(codec, data, room, new, stream, piece)
    except CodecError:
        raise  # it is a ValueError, too, which some libraries raise
    except damaged as error:
        raise CodecError(codec, str(error)) from None
    check_size(codec, spec, len(piece))
    return piece


def _rest(codec: str, data: Buffer, room: int, new: Callable[[], Any], stream: Any, piece: bytes) -> bytes:
    """Everything, after a first `piece` that was not."""
    view = memoryview(data)
    pieces = [piece]
    most = room - 1
    room -= len(piece)
    at = len(view) - len(stream.unused_data)
    while room:
        if not stream.eof:
            if at == len(view):
                raise CodecError(codec, "the data end in the middle of a stream")
        elif at == len(view):
            break
        elif not view[at]:
            if bytes(view[at:]).strip(b"\0"):
                raise CodecError(codec, f"neither a stream nor only zeros from byte {at} on")
            break
        else:
            stream = new()
        window = view[at : at + _STEP]
        piece = stream.decompress(window, room)
        at += len(window) - len(stream.unused_data)
        room -= len(piece)
        pieces.append(piece)
    if not room:
        raise CodecError(codec, f"decodes to more than the {most} bytes expected")
    return b"".join(pieces)
