"""One library in a process of its own: answers each line of standard input, a request, with a line of JSON.

`python -m benchmarks.worker LIBRARY`. A request names a subject and an action of it, such as `cubes.read`, and its
arguments. The caller decides how often to ask, and in which order with other libraries.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

from benchmarks.libraries import ADAPTERS, Adapter
from benchmarks.work.contract import Work
from benchmarks.work.cubes import Cubes
from benchmarks.work.growth import Growth
from benchmarks.work.lines import Lines
from benchmarks.work.many import Many
from benchmarks.work.memory import Memory
from benchmarks.work.single import Single

SUBJECTS: dict[str, type[Work]] = {
    "cubes": Cubes,
    "growth": Growth,
    "lines": Lines,
    "many": Many,
    "memory": Memory,
    "single": Single,
}


class Worker:
    """All subjects, over one library."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        self._subjects = {name: subject(adapter) for name, subject in SUBJECTS.items()}

    def answer(self, action: str, **arguments: Any) -> Any:
        if action == "versions":
            return self._adapter.versions()
        subject, _, name = action.partition(".")
        run: Callable[..., Any] = getattr(self._subjects[subject], name)
        return run(**arguments)


def main() -> None:
    """Answers until standard input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints must not be taken for an answer
    worker: Worker | None = None
    for line in sys.stdin:
        try:
            if worker is None:
                worker = Worker(ADAPTERS[sys.argv[1]]())
            reply = {"answer": worker.answer(**json.loads(line))}
        except NotImplementedError:
            reply = {"answer": None}
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # the panics of Rust libraries are no Exceptions
            traceback.print_exc()
            reply = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply), file=answers, flush=True)


if __name__ == "__main__":
    main()
