"""Creates a sandbox, or completes one that was only partly created."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from kafkabal.errors import OperationError, UsageError
from kafkabal.sandbox.free_ports import held_ports
from kafkabal.sandbox.kafka_installation import KafkaInstallation
from kafkabal.sandbox.kraft_format import new_kafka_uuid
from kafkabal.sandbox.node_layout import Node, lay_out_nodes
from kafkabal.sandbox.sandbox import Sandbox, lock_of, remove_sandbox
from kafkabal.sandbox.sandbox_home import make_folder
from kafkabal.sandbox.sandbox_locks import exclusive
from kafkabal.sandbox.sandbox_record import RECORD_FILE, SandboxRecord, read_record, readable_records, write_record
from kafkabal.sandbox.sandbox_spec import SandboxSpec
from kafkabal.sandbox.wait_limit import WaitLimit

_CLASS_CACHE_GRACE_S: Final = 300.0
"""A JVM writes the cache on exit, which is slow on a busy machine; a killed JVM leaves none."""


def bring_up(
    folder: Path,
    spec: SandboxSpec | None,
    cache_folder: Path,
    *,
    wait_limit: WaitLimit,
    on_step: Callable[[str], None],
    with_class_cache: bool = True,
) -> Sandbox:
    """Create or complete the sandbox in ``folder``, and return it once it is ready.

    Unless disabled, its first start on this machine also creates the class cache of its Kafka version.

    Raises
    ------
    UsageError
        If it exists with another specification.
    OperationError
        If a jar cannot be fetched, or a node does not start.
    """
    with exclusive(lock_of(folder)), _recorded(folder, spec) as (record, is_new):
        try:
            sandbox = Sandbox(folder, record, cache_folder, wait_limit=wait_limit)
            distribution = sandbox.prepare(on_step=on_step)
        except BaseException:
            if is_new:
                # no node has started: if the record stayed, the sandbox would be listed as down forever
                shutil.rmtree(folder, ignore_errors=True)
            raise
        if with_class_cache and not record.spec.zookeeper:
            _ensure_class_cache(distribution, folder.parent, cache_folder, on_step)
        sandbox.complete_locked(on_step=on_step)
    return sandbox


@contextmanager
def _recorded(folder: Path, spec: SandboxSpec | None) -> Iterator[tuple[SandboxRecord, bool]]:
    """The record of a sandbox, and whether it is a new one, whose ports are held for the duration of the block."""
    with ExitStack() as until_started:
        if (folder / RECORD_FILE).is_file():
            yield _existing(folder, spec), False
        else:
            yield _new_record(folder, spec or SandboxSpec(), until_started), True


def _existing(folder: Path, spec: SandboxSpec | None) -> SandboxRecord:
    record = read_record(folder)
    if spec is not None and spec != record.spec:
        raise UsageError(
            f"sandbox {folder.name} already exists with other settings",
            hint=f"remove it with 'kafkabal sandbox down --name {folder.name}'",
        )
    return record


def _new_record(folder: Path, spec: SandboxSpec, until_started: ExitStack) -> SandboxRecord:
    plan = list(lay_out_nodes(spec))
    with exclusive(folder.parent / ".ports.lock"):
        others = [other for _, other in readable_records(folder.parent)]
        taken = {port for other in others for node in other.nodes for port in node.ports.values()}
        count = sum(len(listeners) for *_, listeners in plan)
        free = iter(until_started.enter_context(held_ports(count, taken, random.Random())))
        nodes = tuple(
            Node(node_id, role, rack, {listener: next(free) for listener in listeners})
            for node_id, role, rack, listeners in plan
        )
        record = SandboxRecord(folder.name, spec, new_kafka_uuid(), time.time(), nodes)
        make_folder(folder)
        write_record(record, folder)
    return record


def _ensure_class_cache(
    distribution: KafkaInstallation, home: Path, cache_folder: Path, on_step: Callable[[str], None]
) -> None:
    """Create the class cache if it is missing; a failure is only reported, since sandboxes start without it too."""
    with exclusive(distribution.folder / "classes.lock"):
        if distribution.class_cache.is_file():
            return
        on_step(f"preparing a class cache for Kafka {distribution.version} (once)")
        try:
            _make_class_cache(distribution, home, cache_folder)
        except OperationError as error:
            on_step(f"continuing without a class cache: {error}")


def _make_class_cache(distribution: KafkaInstallation, home: Path, cache_folder: Path) -> None:
    """Have a broker in a temporary sandbox load its classes and save them on exit."""
    fresh = distribution.class_cache.with_suffix(".new")
    record_classes = (f"-XX:AOTCacheOutput={fresh}", "-Xlog:disable", "-Xlog:all=error:stderr")
    spec = SandboxSpec(brokers=1, racks=0, log_dirs=1, kafka_version=distribution.version, jvm_options=record_classes)
    folder = home / f"first-start-of-{distribution.version}"
    try:
        sandbox = bring_up(
            folder, spec, cache_folder, wait_limit=WaitLimit(), on_step=lambda _step: None, with_class_cache=False
        )
        sandbox.stop(grace_s=_CLASS_CACHE_GRACE_S)
    finally:
        remove_sandbox(folder)
    if not fresh.is_file():
        raise OperationError("Java wrote no class cache")
    fresh.replace(distribution.class_cache)
