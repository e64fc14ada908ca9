"""Build hook that compiles the kernel (`src/omnizarr/native/kernel.c`, which includes the other `.c` files there).

The kernel is optional: without a C compiler or the headers of Python, the hook builds the package without it. One
build serves every Python from 3.11 on (stable ABI). Environment variables:

- OMNIZARR_BUILD_NATIVE=0 skips the kernel; =1 fails if it cannot compile.
- CC and CFLAGS choose the compiler and its options; ARCHFLAGS the architectures on macOS.
- OMNIZARR_WHEEL_PLATFORM is the platform tag of the wheel, if the compiler makes code for another system than this one
  (`packaging/wheels.py`).
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KernelHook(BuildHookInterface):  # type: ignore[misc]
    """Adds the compiled module to wheels and to editable installations."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        folder = Path(self.root, "src", "omnizarr", "native")
        target = folder / "_kernel.abi3.so"
        choice = os.environ.get("OMNIZARR_BUILD_NATIVE", "")
        if choice == "0" or not self._compile(folder / "kernel.c", target, required=choice == "1"):
            if version == "editable":  # otherwise a kernel compiled earlier would stay in use
                target.unlink(missing_ok=True)
            return
        platform = os.environ.get("OMNIZARR_WHEEL_PLATFORM") or sysconfig.get_platform()
        build_data["pure_python"] = False
        build_data["tag"] = f"cp311-abi3-{re.sub('[-.]', '_', platform)}"
        build_data["artifacts"].append("src/omnizarr/native/_kernel.abi3.so")

    def _compile(self, source: Path, target: Path, *, required: bool) -> bool:
        """Compile `source`; False if that fails. Replaces `target` atomically, because a process may have loaded it."""
        if os.name != "posix" or sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
            return False  # the kernel needs POSIX files and the stable ABI
        options: list[str] = []
        if sys.platform == "darwin":
            # The tag of the wheel comes from the interpreter, and a universal one promises both architectures.
            universal = sysconfig.get_platform().endswith("universal2")
            architectures = os.environ.get("ARCHFLAGS") or ("-arch arm64 -arch x86_64" if universal else "")
            options = ["-undefined", "dynamic_lookup", *shlex.split(architectures)]
        temporary = target.with_suffix(".unfinished")
        try:
            command = [
                *shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"),
                *("-O3", "-std=c11", "-D_GNU_SOURCE", "-fPIC", "-shared", "-pthread", *options),
                *shlex.split(os.environ.get("CFLAGS", "")),
                f"-I{sysconfig.get_path('include')}",
                str(source),
                *("-o", str(temporary)),
            ]
            subprocess.run(command, check=True, capture_output=True, text=True, errors="replace")
            temporary.replace(target)
            return True
        except (
            OSError,
            ValueError,
            subprocess.CalledProcessError,
        ) as error:  # ValueError: unpaired quotes in CFLAGS
            temporary.unlink(missing_ok=True)
            reason = (getattr(error, "stderr", "") or str(error)).strip()
            if required:
                raise RuntimeError(
                    f"cannot compile the kernel, which OMNIZARR_BUILD_NATIVE=1 demands: {reason}"
                ) from error
            self.app.display_warning(f"building omnizarr without its compiled kernel: {reason}")
            return False
