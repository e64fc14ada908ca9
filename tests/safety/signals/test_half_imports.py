"""Promise 5: a signal handler that uses omnizarr in the middle of its first use succeeds, although modules are half
imported.

A program forks one child per moment: a call or a return in Python's import system, or in the code of a module, during
the first operation of the child."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import os, signal, sys, traceback
from random import Random
import numpy, omnizarr

def act(place):
    if sys.argv[3] == "read":
        assert omnizarr.open_array(place, mode="r")[3:9].tolist() == [1] * 6
    else:
        z = omnizarr.open_array(place, mode="r+")
        z[3:9] = 1
        z.append(numpy.ones(3, "i8"))

def child(moment):
    count = 0
    results = []

    def handle(*_):
        sys.setprofile(None)
        try:
            act(sys.argv[2])
            results.append("done")
        except BaseException:
            traceback.print_exc()
            results.append("failed")

    def profile(frame, event, argument):
        nonlocal count
        code = frame.f_code
        if event in ("call", "return") and (code.co_name == "<module>" or "importlib" in code.co_filename):
            count += 1
            if count == moment:
                os.kill(os.getpid(), signal.SIGUSR1)

    signal.signal(signal.SIGUSR1, handle)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(20)
    sys.setprofile(profile)
    act(sys.argv[1])
    sys.setprofile(None)
    assert signal.getsignal(signal.SIGUSR1) is handle
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert results == (["done"] if moment else [])
    return count

def run(moment):
    # the number of moments that a child had
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        status = 1
        try:
            os.write(writing, b"%d" % child(moment))
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status:
        sys.exit(f"moment {moment}: exit code {status}")
    os.close(writing)
    with open(reading, "rb") as file:
        return int(file.read())

moments = run(0)
runs = min(int(sys.argv[4]), moments)
for moment in sorted(Random(sys.argv[5]).sample(range(1, moments + 1), runs)):
    run(moment)
print(runs, moments)
"""

MADE = """
import sys, omnizarr, numpy
for place in sys.argv[1:]:
    with omnizarr.create_array(place, data=numpy.ones(16, "i8"), chunks=4).store:
        pass
"""

CASES = [("x.zarr", "write"), ("x.sqlite", "read"), ("x.zarr.zip", "read")]
MORE_CASES = [("x.zarr", "read"), ("x.sqlite", "write")]


CTRL_C = """
import os, signal, sys
import omnizarr._signals  # the import of a module of omnizarr may lose it
from omnizarr._fork import import_library

count = 0

def profile(frame, event, argument):
    global count
    if frame.f_code.co_name == "cb" and "importlib" in frame.f_code.co_filename:
        count += 1
        if count == int(sys.argv[1]):
            os.kill(os.getpid(), signal.SIGINT)

sys.unraisablehook = lambda lost: print("lost")
sys.setprofile(profile)
try:
    import_library("wsgiref.simple_server")
    sys.setprofile(None)
    print("not raised")
except KeyboardInterrupt:
    sys.setprofile(None)
    print("raised", "wsgiref.simple_server" in sys.modules, count)
"""


@pytest.mark.parametrize("moment", [1, 5, 20])
def test_ctrl_c_at_the_end_of_an_import_is_not_lost(moment: int) -> None:
    """Python drops what a handler raises in the callback that deletes the lock of a module."""
    result = subprocess.run([sys.executable, "-c", CTRL_C, str(moment)], capture_output=True, text=True, check=True)
    raised, imported, count = result.stdout.split()
    assert (raised, imported) == ("raised", "True")
    assert int(count) > 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize(("name", "operation"), CASES)
def test_a_handler_during_the_first_use(tmp_path: Path, name: str, operation: str) -> None:
    interrupt_imports(tmp_path, name, operation, 3, operation)


def interrupt_imports(folder: Path, name: str, operation: str, count: int, seed: str) -> None:
    """A handler runs at random moments of the first use in a process."""
    places = [str(folder / name), str(folder / f"other-{name}")]
    subprocess.run([sys.executable, "-c", MADE, *places], check=True)
    command = [sys.executable, "-c", PROGRAM, *places, operation, str(count), seed]
    result = subprocess.run(command, capture_output=True, text=True, timeout=250)
    assert (result.returncode, result.stderr) == (0, ""), result.stderr
    assert int(result.stdout.split()[1]) > 1000, "few modules are imported then"


def test_a_subinterpreter_imports_libraries() -> None:
    """Python runs no signal handlers there, and refuses to install them."""
    pytest.importorskip("_xxsubinterpreters")  # of Python 3.11 and 3.12
    code = "from omnizarr._fork import import_library; import_library('wsgiref.simple_server')"
    program = f"import _xxsubinterpreters as inner; inner.run_string(inner.create(), {code!r})"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")
