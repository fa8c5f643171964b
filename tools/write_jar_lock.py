"""Writes the lock file of a Kafka version: ``python -m tools.write_jar_lock 4.1.2``.

For maintainers only: users run what the lock says. Kafka's own jars and their dependencies come first, then its
command-line tools (which need nothing more), then a binding for its log messages. The binding is resolved separately:
together with Kafka, its bill of materials would change the version of Kafka's client library.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any, Final

import kafkabal.sandbox
from kafkabal.atomic_files import replacing
from kafkabal.sandbox import LockedJar, extra_module, sha256_of

_LOG_BINDING: Final = "org.apache.logging.log4j:log4j-slf4j-impl:2.25.3"
_HEADER: Final = "# What the sandbox runs as Apache Kafka {version}: Maven names and checksums.\n"


def resolve(kafka_version: str) -> list[LockedJar]:
    """Ask the Maven repositories for the jars of a Kafka version."""
    jgo = extra_module("jgo")
    server = jgo.resolve(f"org.apache.kafka:kafka_2.13:{kafka_version}")
    tools = jgo.resolve(f"org.apache.kafka:kafka-tools:{kafka_version}")[:1]
    chosen: dict[tuple[str, str], Any] = {}
    for artifact in [*server, *tools, *jgo.resolve(_LOG_BINDING)]:
        chosen.setdefault((artifact.groupId, artifact.artifactId), artifact)
    return _locked(list(chosen.values()))


def _locked(artifacts: list[Any]) -> list[LockedJar]:
    with tempfile.TemporaryDirectory() as scratch:
        context = extra_module("jgo.maven").MavenContext(repo_cache=Path(scratch))
        return [_lock(context, artifact) for artifact in artifacts]


def _lock(context: Any, artifact: Any) -> LockedJar:
    component = context.project(artifact.groupId, artifact.artifactId).at_version(artifact.version)
    checksum = sha256_of(Path(component.artifact().resolve()))
    return LockedJar(artifact.groupId, artifact.artifactId, artifact.version, checksum)


def main() -> None:
    """Write the lock file of a version next to the existing ones."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("kafka_version", metavar="VERSION", help="version of Apache Kafka, such as 4.1.2")
    kafka_version = options.parse_args().kafka_version
    lines = [jar.as_line() + "\n" for jar in resolve(kafka_version)]
    target = Path(kafkabal.sandbox.__file__).parent / "locks" / f"kafka-{kafka_version}.lock"
    with replacing(target) as file:
        file.write("".join([_HEADER.format(version=kafka_version), *lines]).encode("ascii"))


if __name__ == "__main__":
    main()
