"""The kafkabal profile of a sandbox: how to reach it, and the stated capacities of its log dirs.

All log dirs of a sandbox are on one volume of this machine and report its size. The profile gives each of them a volume
and a capacity of its own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kafkabal.atomic_files import replacing
from kafkabal.sandbox.free_ports import LOOPBACK
from kafkabal.sandbox.sandbox_record import SandboxRecord


def profile_of(record: SandboxRecord, folder: Path) -> dict[str, Any]:
    """The profile as plain values."""
    log_dirs = record.log_dirs(folder)
    capacity = record.spec.log_dir_capacity_bytes
    return {
        "bootstrap_servers": ",".join(f"{LOOPBACK}:{node.main_port}" for node in record.brokers),
        "capacity": {broker: {str(path): capacity for path in paths} for broker, paths in log_dirs.items()},
        "volumes": {
            broker: {str(path): f"broker-{broker}-{path.name}" for path in paths} for broker, paths in log_dirs.items()
        },
    }


def write_profile(record: SandboxRecord, folder: Path, target: Path) -> None:
    """Write the profile of the sandbox in ``folder`` to ``target``."""
    import yaml

    with replacing(target) as file:
        file.write(yaml.safe_dump(profile_of(record, folder), sort_keys=False).encode())
