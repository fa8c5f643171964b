"""Valid files of each kind that the command line reads, all about one small cluster."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Final

import msgspec

from kafkabal.clusters.snapshot import write_snapshot
from kafkabal.executor import (
    Confirmed,
    EffectKind,
    Entered,
    Goal,
    Intended,
    Journal,
    Original,
    Phase,
    RunOptions,
    RunPartition,
    RunRecord,
    Throttle,
)
from kafkabal.model import FutureRow
from kafkabal.plan import ANY_DIR, Placement, write_plan
from kafkabal.planner import PlanOptions, make_plan
from kafkabal.testing import cluster_builders

_PROFILE = """\
profiles:
  prod:
    tolerance: 5%
    scores: {disk: 2, replicas: 1}
    capacity: {default: 4TiB, 3: {/d0: 2TiB}}
    volumes: {1: {/d0: a, /d1: b}}
    throttle: 50MB/s
    window: 01:00-05:00
    max_bytes: 2TB
    topics: ["t*"]
    exclude_topics: [u]
    exclude_brokers: 3
    include_internal: true
    count_capacity: disk
    nic_rate: {default: 1GB/s, 2: 500MB}
"""
_PROFILES = (
    _PROFILE
    + """\
  cold: {snapshot: ../s.jsonl, tolerance: 8%}
  far: {bootstrap_servers: "127.0.0.1:1", broker_timeout: 50ms}
"""
)
_TOPICS = """\
topics:
- {name: features, partitions: 4, replication_factor: 2, configs: {retention.ms: "1000"}}
- {name: frames, preset: training, partitions: 6, partition_bytes: 1GB}
"""
_WORKLOAD = """\
records: 2000
size: {lognormal: {mean: 110kB, sigma: 0.8}}
keys: {zipf: {keys: 100, exponent: 1.0}}
rate: 50MB/s
arrival: poisson
producers: 2
metrics_interval: 5s
transport: {batch: 16KiB, linger: 5ms, in_flight: 5, buffer: 32MiB, acks: all,
            broker_rate: {default: 200MB/s, 3: 25MB/s}, request_time: 1ms, round_trip: 1ms}
log: {headers: 40B, compression: 60%}
events: [{at: 10s, broker: 3, becomes: slow, factor: 8}, {at: 20s, broker: 2, becomes: dead}]
cluster: {brokers: 4, racks: 2, capacity: 1TB, leaders: brokers+2, replication_factor: 1,
          existing: {default: 1GB, 1: 2GB}, seed: 0}
"""
_MANIFEST = b"""\
{"kafkabal_manifest":1,"id":"4f","cluster_id":"Mk","topic":"img","topic_id":"Xy","source":"folder /d","offsets":{"0":5}}
{"part":{"name":"a.jpg","size_bytes":4711,"mtime_ns":1,"records":1}}
{"part":{"name":"b.jpg","size_bytes":0,"mtime_ns":2,"records":1}}
{"through":2,"offsets":{"0":7}}
{"void":1}
{"state":"clean"}
17
{"size_bytes":3}
"""
_PROPERTIES = b"""\
# a comment
security.protocol=SASL_SSL
sasl.mechanism: SCRAM-SHA-256
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\
    username="me" password="\\u0041b";
ssl.truststore.location=/etc/ssl/certs/ca-certificates.crt
request.timeout.ms=100
client.id=x
"""
_TRAINING = """\
profiles: {nas: {rate: 300MB/s, latency: 1ms}}
job: {epochs: 5, compute: 2ms, record: 110kB, batch: 64, prefetch: 4, cache: 10GB, inference: 10MB}
read_rate: {default: 300MB/s, 3: 50MB/s}
"""
_RECORD = b"""\
{"name":"default","spec":{"brokers":1,"racks":null,"log_dirs":2,"controllers":1,"zookeeper":false,
 "kafka_version":null,"log_dir_capacity_bytes":10737418240,"expected_replicas":1000,"heap_bytes":null,
 "listeners":[{"name":"TLS","protocol":"SSL"}],"properties":{"a":"b"},"broker_properties":{"1":{"c":"d"}},"class_path":["/x.jar"],
 "broker_class_path":{},"jvm_options":[]},"cluster_id":"Mk","created_at_s":1.5,
 "nodes":[{"id":1,"role":"broker+controller","rack":"r0","ports":{"PLAINTEXT":1,"TLS":1,"CONTROLLER":1}}],"kafkabal_sandbox":1}
"""
_TOPICS_TEXT = """\
Topic: a-b\tTopicId: Xy_1\tPartitionCount: 2\tReplicationFactor: 2\tConfigs: cleanup.policy=compact,delete,a=5
\tTopic: a-b\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 2,1\tElr: \tLastKnownElr: \t
\tTopic: a-b\tPartition: 1\tLeader: none\tReplicas: 9,3,1\tIsr: 3\tAdding Replicas: 3\tRemoving Replicas: 9
"""
_DIRS_TEXT = """\
Received log directory information from brokers 1,2
{"version":1,"brokers":[{"broker":1,"logDirs":[{"logDir":"/d1","error":null,"partitions":[{"partition":"a-b-0","size":21,\
"offsetLag":0,"isFuture":false}]},{"logDir":"/d2","error":null,"partitions":[{"partition":"a-b-0","size":5,"offsetLag":0,\
"isFuture":true}]}]}]}
"""
_ASSIGNED = """\
Current partition replica assignment
{"version":1,"partitions":[{"topic":"a-b","partition":0,"replicas":[1,2],"log_dirs":["any","any"]}]}

Proposed partition reassignment configuration
{"version":1,"partitions":[]}
"""
_CASE = """\
kafkabal_case: 1
seed: 7
step: 6h
growth: {per_day: 2%, spread: 50%, noise: 30%, retention: 7d}
faults: [{broker: 3, at: 1d, for: 6h, kind: dead}, {broker: 1, at: 30h, for: forever}]
random_faults: {every: 5d, for: 8h, kind: dead}
new_brokers: [{broker: 7, at: 1d, like: 1, rack: r0}]
watch: {heal: all, dead_after: 30m, move_after: 2h, rebalance_above: 20%, tolerance: 9%, window: "01:00-05:00",
        max_bytes_per_day: 500GB, max_actions_per_day: 24, max_dead: 1, throttle: 50MB}
"""
_HISTORY = b"""\
{"kafkabal_history":1,"cluster_id":"simulated","at_s":%d,"dirs":[[1,"/d0",1000],[2,"/d0",2000]]}
{"topic":"t","partitions":[0,1,2,3,4],"sizes":[120,-1,5,6,%d],"end_offsets":[7,9,1,1,%d]}
"""
# half an hour before the snapshot was taken
_HISTORY_AT_S = 1_767_223_800
_ANY_HISTORY_FILE = "state/history/simulated/%d.jsonl.gz"
HISTORY_FILE: Final = _ANY_HISTORY_FILE % (_HISTORY_AT_S * 1000)
_NAMES = b'{"topics":["img","t"],"brokers":[1,2,3]}\n'
RECORD_FILE: Final = "state/sandboxes/default/sandbox.json"
# of the snapshot's cluster
RUN_FILE: Final = "state/snapshot-runs/simulated/20260101T000000-abc.jsonl"
# of the cluster at 127.0.0.1:1
NAMES_FILE: Final = "cache/completion/6f8b5ccddb59696ed785.json"


def write_sound_files(folder: Path) -> None:
    """Write a valid file of each kind, all about one small cluster."""
    brokers = cluster_builders.brokers(4, racks=2, dirs=2)
    topics = [
        cluster_builders.topic("t", [1, 2], [2, 1], [1, 3], [1, 2], [2, 3]),
        cluster_builders.topic("u", [1, 4], size_bytes=7 * 10**9),
    ]
    topics[1].partitions[0].future.append(FutureRow(broker=1, log_dir=1, bytes=5))
    state = cluster_builders.cluster(brokers, topics)
    for name in ("s.jsonl", "s2.jsonl"):
        write_snapshot(state, folder / name)
    write_snapshot(cluster_builders.cluster(brokers, []), folder / "empty.jsonl")
    plan = make_plan(state, PlanOptions())
    for name in ("p.json", "p2.json"):
        write_plan(plan, folder / name)
    for at_s, size in ((1_767_000_000, 10**6), (_HISTORY_AT_S, 10**7)):
        path = folder / (_ANY_HISTORY_FILE % (at_s * 1000))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(_HISTORY % (at_s, size, size), mtime=0))
    for name in ("j.jsonl", RUN_FILE):
        _write_journal(folder / name, state.cluster_id)
    texts = {
        "prof.yaml": _PROFILE,
        "topics.yaml": _TOPICS,
        "w.yaml": _WORKLOAD,
        "training.yaml": _TRAINING,
        "case.yaml": _CASE,
        "config/profiles.yaml": _PROFILES,
        "topics.txt": _TOPICS_TEXT,
        "dirs.txt": _DIRS_TEXT,
        "assigned.json": _ASSIGNED,
        "wm.yaml": "size: {manifest: m.jsonl}\ncluster: {brokers: 3}\n",
    }
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name, data in {"m.jsonl": _MANIFEST, RECORD_FILE: _RECORD, NAMES_FILE: _NAMES}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (folder / "c.properties").write_bytes(_PROPERTIES)


def _write_journal(path: Path, cluster_id: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    planned = tuple(
        RunPartition(
            topic="t",
            partition=number,
            previous=Placement(replicas=(1, 2), leader=1, log_dirs=("/d0", "/d0")),
            replicas=(4, 2),
            log_dirs=(ANY_DIR, "/d1"),
            copy_bytes=10**9,
        )
        for number in (0, 3)
    )
    originals = tuple(
        msgspec.convert({"record": "original", "kind": kind, "resource": name, "key": key, "value": None}, Original)
        for kind, name, key in (("broker", "1", "leader.replication.throttled.rate"), ("topic", "t", "x"))
    )
    record = RunRecord(
        run_id="20260101T000000-abc",
        plan_id="p",
        cluster_id=cluster_id,
        started_at="2026-01-01T00:00:00+00:00",
        host="h",
        options=msgspec.structs.replace(RunOptions(throttle=Throttle(bytes_per_s=10**6)), window="00:00-23:59"),
        partitions=planned,
        originals=originals,
    )
    journal = Journal.create(path, record, Entered(at="2026-01-01T00:00:01+00:00", goal=Goal.APPLY, phase=Phase.MOVING))
    journal.append(
        Intended(at="2026-01-01T00:00:02+00:00", number=1, kind=EffectKind.REASSIGN, items={"t-0": [4, 2]}),
        Confirmed(at="2026-01-01T00:00:03+00:00", number=1),
    )
    journal.close()
