"""Python packages that a script needs, installed beside the models on first use.

    environment.need("numpy==2.4.6", "onnxruntime==1.32.0")

makes them importable: pip puts them into a folder of $STINT_MODELS (or
build/models), one for each list of packages and Python version; nothing of the
system's Python is touched, and no virtual environment is needed. What PyPI has no
binaries of (SOURCES) is built with the machine's compiler, for this machine.
"""
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
MODELS = pathlib.Path(os.environ.get("STINT_MODELS") or HERE.parent / "build" / "models")


SOURCES = ["llama-cpp-python"]


class Missing(Exception):
    """pip couldn't install the packages."""


def need(*packages):
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    digest = hashlib.sha256(" ".join((version, *packages)).encode()).hexdigest()[:12]
    folder = MODELS / "python" / digest
    if not folder.is_dir():
        print(f"installing {', '.join(packages)} into {folder}", file=sys.stderr, flush=True)
        part = folder.with_name(f"{digest}.{os.getpid()}")
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check",
                   "--only-binary=:all:", *(f"--no-binary={name}" for name in SOURCES),
                   "--target", str(part), *packages]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            shutil.rmtree(part, ignore_errors=True)
            lines = done.stderr.strip().splitlines() or ["pip failed"]
            raise Missing(f"{', '.join(packages)}: {lines[-1]}")
        try:
            part.rename(folder)
        except OSError:  # another process was quicker
            shutil.rmtree(part)
    sys.path.insert(0, str(folder))


def need_numpy():
    """numpy: the system's where there is one."""
    try:
        import numpy  # noqa: F401
    except ImportError:
        need("numpy==2.4.6")
