"""Writes a Ray Data data set to a topic, routed by the policies of ``kafkabal produce``.

Every write task has a producer of its own, which reads the cluster every few seconds. Ray retries failed tasks, so a
record may be sent twice; Kafka's transactions do not span tasks.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from kafkabal.chunks import chunked
from kafkabal.clusters.kafka import KafkaCluster
from kafkabal.config import (
    DEFAULT_POLICY,
    DEFAULT_REFRESH_S,
    DEFAULT_ROUTED_SCORES,
    librdkafka_settings,
    named_connection,
)
from kafkabal.errors import MissingCapabilityError, UsageError
from kafkabal.producer.policy_for_librdkafka import check_key_order, client_policy
from kafkabal.producer.produce_session import topic_settings
from kafkabal.producer.record_sender import RecordSender
from kafkabal.producer.topic_facts import topic_facts
from kafkabal.routing import Context, load_policy
from kafkabal.scoring import load_scores
from kafkabal.sources import Headers

if TYPE_CHECKING:  # an optional extra, which may not be installed
    import ray.data

_SEED_BITS = 32
_AT_ONCE = 1000
"""Records handed over per call: a call costs some microseconds, which they share."""
_LEAST_TASK_BYTES: Final = 64 << 20
_LEAST_TASK_ROWS: Final = 1000
"""A write task starts a producer, which takes 0.6 s: as long as sending some 64 MiB. Versions of Ray before 2.60 count
rows only, and 1,000 of them are at most 1 GB."""
_COLUMNS = ("value", "key", "headers")
_Record: TypeAlias = "tuple[bytes | None, bytes | None, Headers]"


def write_topic(
    dataset: ray.data.Dataset,
    topic: str,
    *,
    profile: str | None = None,
    bootstrap_servers: str | None = None,
    command_config: str | None = None,
    policy: str = DEFAULT_POLICY,
    scores: Sequence[str] = DEFAULT_ROUTED_SCORES,
    refresh_s: float = DEFAULT_REFRESH_S,
    any_key_order: bool = False,
    concurrency: int | None = None,
) -> None:
    """Write a data set to a topic, and wait until every record is acknowledged.

    Parameters
    ----------
    dataset
        Has a column ``value`` (bytes or text; null is sent as a record without a value, which is a tombstone in a
        compacted topic), and optionally ``key`` and ``headers`` (a list of ``name`` and ``value``).
    profile, bootstrap_servers, command_config
        How to reach the cluster: a profile, or ``host:port`` and a Java ``client.properties``; by default the
        environment.
    policy, scores, refresh_s
        As of ``kafkabal produce``.
    any_key_order
        Let a policy send records of one key to several partitions.
    concurrency
        Maximum of concurrent write tasks; None leaves it to Ray.

    Raises
    ------
    UsageError
        If the topic is unknown, a column is missing or neither bytes nor text, or the policy would break the order of
        keyed records.
    KafkabalError
        If the brokers do not respond, or refuse.
    """
    try:
        from ray.data import Datasink
    except ImportError as error:
        raise MissingCapabilityError("Ray is not installed", hint="pip install 'kafkabal[ray]'") from error
    schema = dataset.schema()  # None if it has no rows
    columns = set() if schema is None else set(schema.names)
    if schema is not None and "value" not in columns:
        raise UsageError("the data set lacks column value", hint=f"it has: {', '.join(sorted(columns))}")
    choice = load_policy(policy)
    if "key" in columns and not any_key_order:
        check_key_order(choice, "the records have keys", "any_key_order=True")
    connection = named_connection(profile, bootstrap_servers, command_config)
    with KafkaCluster(connection) as cluster:
        facts = topic_facts(cluster, topic)

    counts_bytes = hasattr(Datasink, "min_bytes_per_write")

    class TopicDatasink(Datasink):  # type: ignore[misc] # untyped where Ray is not installed
        """The topic."""

        # Ray bundles small blocks up to this, and refuses a sink that sets both
        min_bytes_per_write = _LEAST_TASK_BYTES if counts_bytes else None
        min_rows_per_write = None if counts_bytes else _LEAST_TASK_ROWS

        def write(self, blocks: Iterable[Any], ctx: Any) -> int:  # noqa: ARG002 - of Ray's protocol
            seed = random.getrandbits(_SEED_BITS)
            client = {**librdkafka_settings(connection), "log_level": 2, **topic_settings(facts)}
            with (
                KafkaCluster(connection) as cluster,
                RecordSender(
                    cluster,
                    topic,
                    client_policy(load_policy(policy), client).create(Context(seed=seed)),
                    client,
                    scores=load_scores(scores),
                    refresh_s=refresh_s,
                ) as producer,
            ):
                return sum(_send(producer, records) for records in chunked(_records(blocks), _AT_ONCE))

    dataset.write_datasink(TopicDatasink(), concurrency=concurrency)


def _send(sender: RecordSender, records: list[_Record]) -> int:
    """Queue records; returns how many."""
    values, keys, headers = (list(column) for column in zip(*records, strict=True))
    sizes = [
        len(value or b"") + len(key or b"") + sum(len(name) + len(data or b"") for name, data in of_record)
        for value, key, of_record in records
    ]
    sender.produce_many(
        values,
        sizes,
        keys=keys if any(key is not None for key in keys) else None,
        headers=headers if any(headers) else None,
    )
    return len(records)


def _records(blocks: Iterable[Any]) -> Iterator[_Record]:
    from ray.data.block import BlockAccessor

    for block in blocks:
        table = BlockAccessor.for_block(block).to_arrow()  # pandas has several kinds of null
        selected = table.select([name for name in _COLUMNS if name in table.column_names])
        for rows in selected.to_batches(_AT_ONCE):
            for row in rows.to_pylist():
                pairs = row.get("headers")  # after map_batches, an array
                headers = [] if pairs is None else [(pair["name"], pair["value"]) for pair in pairs]
                yield _bytes("value", row["value"]), _bytes("key", row.get("key")), headers


def _bytes(column: str, value: Any) -> bytes | None:
    if isinstance(value, str):
        return value.encode()
    if value is None or isinstance(value, bytes):
        return value
    raise UsageError(f"column {column}: neither bytes nor text: {value!r:.40}")
