"""The test's side: a handle on the process of a peer, which starts with the first request."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import numpy.typing as npt

from tests.peers.documents import array_document
from tests.peers.environments import ROOT, Environment
from tests.peers.exchange import pack, pack_arguments, unpack

__all__ = ["Peer", "PeerError", "Unsupported"]

_PATIENCE = 120  # seconds; small arrays take milliseconds, but the first request also imports the library


class PeerError(Exception):
    """A peer failed at something that it supports; the text contains its traceback."""


class Unsupported(Exception):
    """A peer does not support a data type, codec or other part of the request; `reason` is its own message."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Peer:
    """An environment with other implementations, which answers requests."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self._process: subprocess.Popen[str] | None = None

    @property
    def libraries(self) -> tuple[str, ...]:
        """The libraries of the environment."""
        return tuple(name for name in self.environment.libraries if name not in self.environment.missing)

    def read(self, library: str, path: str | os.PathLike[str], array_path: str = "") -> npt.NDArray[Any]:
        """The whole array, as the library reads it."""
        return unpack(self._ask(library, "read", path, array_path=array_path))

    def write(
        self,
        library: str,
        path: str | os.PathLike[str],
        data: npt.NDArray[Any],
        *,
        array_path: str = "",
        document: dict[str, Any] | None = None,
        **spec: Any,
    ) -> None:
        """Has the library create an array and write `data` to it.

        `document` is the metadata of the new array: of v3 or v2, of v2 for `zarr2`, of v1 for `zarr1`. Without it,
        `spec` is what `array_document` takes, or for `zarr1` and `zarr2` what their own `zarr.create` takes, with
        codecs as their configurations. `zarr_version=3` makes `zarr2` write the draft of 2020, and `chunks_per_shard`
        its shards. These two, and `zarr` with a document of v2, also take `attributes`.
        """
        if document is None and library not in ("zarr1", "zarr2"):
            document, spec = array_document(data.shape, data.dtype, **spec), {}
        spec = pack_arguments(spec)
        self._ask(library, "write", path, array_path=array_path, data=pack(data), document=document, **spec)

    def describe(self, library: str, path: str | os.PathLike[str], node_path: str = "") -> dict[str, Any]:
        """The library's description of a node: its `kind`, its `attributes`, its `document` if available, and the
        `shape`, `dtype` and `chunks` of an array or the `members` of a group. The libraries that are zarr-python add
        `order` and `fill_value`, which is an array without dimensions, or None."""
        answer: dict[str, Any] = self._ask(library, "describe", path, node_path=node_path)
        if answer.get("fill_value") is not None:
            answer["fill_value"] = unpack(answer["fill_value"])
        return answer

    def resize(self, library: str, path: str | os.PathLike[str], shape: Sequence[int], array_path: str = "") -> None:
        """Has the library change the shape of an array."""
        self._ask(library, "resize", path, array_path=array_path, shape=list(shape))

    def create_group(
        self,
        library: str,
        path: str | os.PathLike[str],
        group_path: str = "",
        attributes: dict[str, Any] | None = None,
        **spec: Any,
    ) -> None:
        """Has the library create a group and its parents; `zarr2` also takes a `zarr_version`."""
        self._ask(library, "create_group", path, group_path=group_path, attributes=attributes or {}, **spec)

    def consolidate(self, library: str, path: str | os.PathLike[str]) -> None:
        """Has the library consolidate the metadata of a group."""
        self._ask(library, "consolidate", path)

    # -- the process

    def __enter__(self) -> Peer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the process, if it runs."""
        process, self._process = self._process, None
        if process is not None:
            with process:  # closes its input, which ends the process, and waits
                pass

    def _ask(self, library: str, action: str, path: str | os.PathLike[str], **arguments: Any) -> Any:
        if library not in self.environment.libraries:
            raise ValueError(f"{self.environment.name} has {self.environment.libraries}, not {library!r}")
        if library in self.environment.missing:
            raise Unsupported(f"{library} is not installed: {self.environment.missing[library]}")
        request = {"library": library, "action": action, "path": os.path.abspath(path), **arguments}
        reply = self._exchange(json.dumps(request))
        if "unsupported" in reply:
            raise Unsupported(f"{library}: {reply['unsupported']}")
        if "error" in reply:
            raise PeerError(f"{library} cannot {action} {path}\n{reply['error']}")
        return reply["answer"]

    def _exchange(self, request: str) -> dict[str, Any]:
        if self._process is None:
            # -E and -s: keep variables and packages of the test environment out of this one.
            command = [str(self.environment.python), "-E", "-s", "-m", "tests.peers.worker"]
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(command, cwd=ROOT, text=True, stdin=pipe, stdout=pipe)
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        watchdog = threading.Timer(_PATIENCE, process.kill)
        watchdog.start()
        try:
            process.stdin.write(request + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            watchdog.cancel()
        if not line:  # it crashed or was killed after the timeout; the next request starts another process
            self._process = None
            process.kill()
            process.communicate()
            raise PeerError(f"the process of {self.environment.name} ended with code {process.returncode}")
        reply: dict[str, Any] = json.loads(line)
        return reply
