"""Promise 5: a garbage collection that starts during a fork does not hang it."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys

import pytest

from omnizarr import _fork

COLLECTING = """
import gc, signal, threading
from omnizarr import _fork
signal.alarm(30)
for _ in range(50):
    go_on = threading.Event()
    threads = [threading.Thread(target=go_on.wait) for _ in range(3)]
    for thread in threads:
        thread.start()
    garbage = [threading.local()]  # its deletion needs a lock of the interpreter
    garbage.append(garbage)
    del garbage
    gc.set_threshold(max(1, gc.get_count()[0]))  # the next object of a container type starts a collection
    _fork._other_thread_imports()
    gc.set_threshold(700)
    go_on.set()
    for thread in threads:
        thread.join()
"""


@pytest.mark.skipif(not hasattr(signal, "alarm"), reason="this system has no alarms")
def test_a_collection_while_frames_are_listed() -> None:
    result = subprocess.run([sys.executable, "-c", COLLECTING], capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_stays_as_it_was(enabled: bool) -> None:
    if not enabled:
        gc.disable()
    try:
        assert not _fork._other_thread_imports()
        assert gc.isenabled() == enabled
    finally:
        gc.enable()
