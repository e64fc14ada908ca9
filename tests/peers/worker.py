"""The peer's side: answers each line of standard input, a request, with one line of standard output.

It runs in the environment of another library and imports nothing of omnizarr.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any

from tests.peers.exchange import pack, unpack, unpack_arguments

__all__ = ["answer", "main"]


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """The reply to one request: an answer, a reason why it is not supported, or an error with its traceback."""
    module: Any = None
    try:
        module = importlib.import_module(f"tests.peers.libraries.{request.pop('library')}")
        action = getattr(module, request.pop("action"), None)
        if action is None:
            return {"unsupported": "the library has no such operation"}
        if "data" in request:
            request["data"] = unpack(request["data"])
        result = action(Path(request.pop("path")), **unpack_arguments(request))
        return {"answer": pack(result) if hasattr(result, "dtype") else result}
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic in a Rust library is not an Exception
        summary = ", ".join(f"{type(one).__name__}: {one}" for one in (error, error.__cause__) if one is not None)
        phrases = getattr(module, "UNSUPPORTED", ("ModuleNotFoundError", "ImportError"))
        if any(phrase in summary for phrase in phrases):
            return {"unsupported": summary}
        return {"error": traceback.format_exc()}


def main() -> None:
    """Answers until standard input ends. Output of libraries goes to standard error, so that it cannot look like an
    answer."""
    warnings.simplefilter("ignore")
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), file=replies, flush=True)


if __name__ == "__main__":
    main()
