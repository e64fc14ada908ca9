"""The process of one library: reads requests from standard input, one JSON object per line, and answers each with one.

`python -m benchmarks.peer_process LIBRARY`. A request names a subject and one of its actions, such as `cubes.checksum`,
and the arguments. The runner decides how often and in which order it sends requests to the libraries.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

from benchmarks.libraries import ADAPTERS, Adapter
from benchmarks.subjects import ACTIONS


class PeerProcess:
    """The actions of all subjects, for one library."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        self._subjects = {name: actions(adapter) for name, actions in ACTIONS.items()}

    def answer(self, action: str, **arguments: Any) -> Any:
        if action == "versions":
            return self._adapter.versions()
        if action == "source":
            return {"file": self._adapter.library.__file__, "kernel": self._adapter.has_kernel()}
        subject, _, name = action.partition(".")
        run: Callable[..., Any] = getattr(self._subjects[subject], name)
        return run(**arguments)


def main() -> None:
    """Answers until standard input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # keeps output of libraries out of the answers
    process: PeerProcess | None = None
    for line in sys.stdin:
        try:
            if process is None:
                process = PeerProcess(ADAPTERS[sys.argv[1]]())
            reply = {"answer": process.answer(**json.loads(line))}
        except NotImplementedError:
            reply = {"answer": None}
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a panic in a Rust library is not an Exception
            traceback.print_exc()
            reply = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply), file=answers, flush=True)


if __name__ == "__main__":
    main()
