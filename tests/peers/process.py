"""The side of the tests: a peer's process, started when it is first asked, and the questions that it answers."""

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
    """A peer failed at something that it should be able to do; the text holds its own traceback."""


class Unsupported(Exception):
    """A peer does not know a data type, codec or other part of what it was asked; `reason` is its own word for it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Peer:
    """An environment with other implementations, as something that answers questions."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self._process: subprocess.Popen[str] | None = None

    @property
    def libraries(self) -> tuple[str, ...]:
        """The libraries that can be asked."""
        return tuple(name for name in self.environment.libraries if name not in self.environment.missing)

    def read(self, library: str, path: str | os.PathLike[str], array_path: str = "") -> npt.NDArray[Any]:
        """The whole of an array, as the library sees it."""
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
        """Makes the library create an array and write `data` to it.

        `document` is the metadata to create it from: of version 3 or 2, of 2 for `zarr2`, of 1 for `zarr1`. Without
        it, `spec` is what `array_document` takes, or for `zarr1` and `zarr2` what their own `zarr.create` takes, with
        codecs as their configurations; `zarr_version=3` makes `zarr2` write the draft of 2020, with `chunks_per_shard`
        in shards. These two, and `zarr` with a document of version 2, also take `attributes`.
        """
        if document is None and library not in ("zarr1", "zarr2"):
            document, spec = array_document(data.shape, data.dtype, **spec), {}
        spec = pack_arguments(spec)
        self._ask(library, "write", path, array_path=array_path, data=pack(data), document=document, **spec)

    def describe(self, library: str, path: str | os.PathLike[str], node_path: str = "") -> dict[str, Any]:
        """What the library says of a node: its `kind`, its `attributes`, its `document` where it shows that, and the
        `shape`, `dtype` and `chunks` of an array or the `members` of a group. The libraries that are zarr-python also
        tell `order` and `fill_value`, which is an array without dimensions, or None."""
        answer: dict[str, Any] = self._ask(library, "describe", path, node_path=node_path)
        if answer.get("fill_value") is not None:
            answer["fill_value"] = unpack(answer["fill_value"])
        return answer

    def resize(self, library: str, path: str | os.PathLike[str], shape: Sequence[int], array_path: str = "") -> None:
        """Makes the library give an array another shape."""
        self._ask(library, "resize", path, array_path=array_path, shape=list(shape))

    def create_group(
        self,
        library: str,
        path: str | os.PathLike[str],
        group_path: str = "",
        attributes: dict[str, Any] | None = None,
        **spec: Any,
    ) -> None:
        """Makes the library create a group, and those above it; `zarr2` also takes a `zarr_version`."""
        self._ask(library, "create_group", path, group_path=group_path, attributes=attributes or {}, **spec)

    def consolidate(self, library: str, path: str | os.PathLike[str]) -> None:
        """Makes the library consolidate the metadata of a group."""
        self._ask(library, "consolidate", path)

    # -- the process

    def __enter__(self) -> Peer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the process, if there is one."""
        process, self._process = self._process, None
        if process is not None:
            with process:  # closes its input, at which it ends, and waits for it
                pass

    def _ask(self, library: str, action: str, path: str | os.PathLike[str], **arguments: Any) -> Any:
        if library not in self.environment.libraries:
            raise ValueError(f"{self.environment.name} offers {self.environment.libraries}, not {library!r}")
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
            # -E and -s: nothing of the environment that runs the tests may leak into this one.
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
        if not line:  # it crashed, or was killed for its silence; the next question starts another one
            self._process = None
            process.kill()
            process.communicate()
            raise PeerError(f"the process of {self.environment.name} ended with code {process.returncode}")
        reply: dict[str, Any] = json.loads(line)
        return reply
