"""The output of Kafka's own tools becomes a snapshot."""

from pathlib import Path

import pytest

from kafkabal.clusters.snapshot.import_kafka_tools import read_kafka_text
from kafkabal.errors import InputFileError
from kafkabal.model.cluster_rows import BrokerRow, FutureRow, LogDirRow, PartitionRow, TopicRow
from kafkabal.model.cluster_state import ClusterState
from kafkabal.model.state_to_rows import broker_rows, topic_rows

TOPICS = (
    "Topic: a-b\tTopicId: Xy_1\tPartitionCount: 2\tReplicationFactor: 2\t"
    "Configs: cleanup.policy=compact,delete,retention.ms=5,"
    "leader.replication.throttled.replicas=0:1,1:2\n"
    "\tTopic: a-b\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 2,1\tElr: \tLastKnownElr: \n"
    "\tTopic: a-b\tPartition: 1\tLeader: none\tReplicas: 9,3,1\tIsr: 3\t"
    "Adding Replicas: 3\tRemoving Replicas: 9\tElr: 1\tLastKnownElr: \n"
    "\n"
    "Topic: empty.configs\tPartitionCount: 1\tReplicationFactor: 1\tConfigs: \n"
    "\tTopic: empty.configs\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\n"
)
LOG_DIRS = (
    "Querying brokers for log directories information\n"
    "Received log directory information from brokers 1,2\n"
    '{"version":1,"brokers":['
    '{"broker":2,"logDirs":[{"logDir":"/d1","error":"org.apache.kafka.common.errors.KafkaStorageException",'
    '"partitions":[]},{"logDir":"/d2","error":null,"partitions":[{"partition":"a-b-0","size":20,"offsetLag":3,'
    '"isFuture":false}]}]},'
    '{"broker":1,"logDirs":[{"logDir":"/d1","error":null,"partitions":[{"partition":"a-b-0","size":21,"offsetLag":0,'
    '"isFuture":false},{"partition":"empty.configs-0","size":7,"offsetLag":0,"isFuture":false},'
    '{"partition":"deleted-0","size":9,"offsetLag":0,"isFuture":false}]},'
    '{"logDir":"/d2","error":null,"partitions":[{"partition":"a-b-0","size":5,"offsetLag":0,"isFuture":true}]}]}]}\n'
)


def read(tmp_path: Path, topics: str = TOPICS, log_dirs: str | None = LOG_DIRS) -> ClusterState:
    """Read these texts."""
    (tmp_path / "topics.txt").write_text(topics)
    if log_dirs is not None:
        (tmp_path / "dirs.txt").write_text(log_dirs)
    return read_kafka_text(
        tmp_path / "topics.txt",
        tmp_path / "dirs.txt" if log_dirs is not None else None,
        cluster_id="Mk",
        taken_at="2026-01-01T00:00:00Z",
    )


def test_topics_of_kafka_itself_are_internal(tmp_path: Path) -> None:
    """No tool reports it, and a plan for the snapshot would move them unasked."""
    names = ["__consumer_offsets", "__kafkabal_weights", "__share_group_state", "__transaction_state", "__mine"]
    line = "Topic: {0}\tPartitionCount: 1\tReplicationFactor: 1\tConfigs: \n"
    line += "\tTopic: {0}\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\n"
    described = read(tmp_path, "".join(map(line.format, names)), None)
    placed = ",".join(f'{{"topic":"{name}","partition":0,"replicas":[1]}}' for name in names)
    assigned = read(tmp_path, f'{{"version":1,"partitions":[{placed}]}}', None)
    for state in (described, assigned):
        assert dict(zip(state.topics.name, state.topics.internal.tolist(), strict=True)) == {
            "__consumer_offsets": True,
            "__kafkabal_weights": True,
            "__share_group_state": True,
            "__transaction_state": True,
            "__mine": False,
        }


def test_a_topic_that_is_being_deleted_is_read(tmp_path: Path) -> None:
    """Tools that ask ZooKeeper print so at the end of each of its lines."""
    state = read(
        tmp_path,
        "Topic:old\tPartitionCount:1\tReplicationFactor:1\tConfigs:retention.ms=5\tMarkedForDeletion:true\n"
        "\tTopic: old\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\tMarkedForDeletion: true\n",
        None,
    )
    assert state.topics.configs == ({"retention.ms": "5"},)


def test_both_texts_together_give_the_whole_state(tmp_path: Path) -> None:
    """Placement from one, sizes, dirs and future replicas from the other; names may contain dashes and dots."""
    state = read(tmp_path)
    assert list(broker_rows(state)) == [
        BrokerRow(broker=1, log_dirs=[LogDirRow(path="/d1", volume="0"), LogDirRow(path="/d2", volume="1")]),
        BrokerRow(
            broker=2, log_dirs=[LogDirRow(path="/d1", state="offline", volume="0"), LogDirRow(path="/d2", volume="1")]
        ),
        BrokerRow(broker=3),
        BrokerRow(broker=9, state="dead"),
    ]
    assert list(topic_rows(state)) == [
        TopicRow(
            topic="a-b",
            topic_id="Xy_1",
            configs={
                "cleanup.policy": "compact,delete",
                "retention.ms": "5",
                "leader.replication.throttled.replicas": "0:1,1:2",
            },
            partitions=[
                PartitionRow(
                    partition=0,
                    leader=1,
                    replicas=[1, 2],
                    isr=[1, 2],
                    sizes=[21, 20],
                    log_dirs=[0, 1],
                    future=[FutureRow(broker=1, log_dir=1, bytes=5)],
                ),
                PartitionRow(
                    partition=1,
                    replicas=[9, 3, 1],
                    isr=[3],
                    sizes=[None] * 3,
                    log_dirs=[None] * 3,
                    adding=[3],
                    removing=[9],
                ),
            ],
        ),
        TopicRow(
            topic="empty.configs",
            configs={},
            partitions=[PartitionRow(partition=0, leader=1, replicas=[1], isr=[1], sizes=[7], log_dirs=[0])],
        ),
    ]


def test_topics_alone_are_enough_to_count(tmp_path: Path) -> None:
    """Without log dirs sizes are unknown, and brokers with an in-sync replica are live."""
    state = read(tmp_path, log_dirs=None)
    assert state.brokers.is_live.tolist() == [True, True, True, False]
    assert (state.replicas.size_bytes == -1).all()


def test_tabs_may_have_become_blanks(tmp_path: Path) -> None:
    """Text that was copied from a terminal or a mail can still be read."""
    spaced = read(tmp_path, TOPICS.replace("\t", "    "))
    assert list(topic_rows(spaced)) == list(topic_rows(read(tmp_path)))


@pytest.mark.parametrize(
    ("topics", "message"),
    [
        ("Error while executing topic command : Timed out\n", "topics.txt, line 1: not output of TopicCommand"),
        (
            TOPICS + "\tTopic: other\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\n",
            "line 7: not output of TopicCommand",
        ),
        (TOPICS.replace("Leader: 1", "Leader: x"), "line 2: not output of TopicCommand"),
        (TOPICS.replace("Partition: 1\t", "Partition: 0\t"), "duplicate partition: a-b-0"),
        (TOPICS.replace("Partition: 1\t", f"Partition: {2**70}\t"), "topics.txt: number out of range"),
        (TOPICS.replace("Configs: cleanup", "Configs: ,cleanup"), "line 1: not output of TopicCommand"),
    ],
)
def test_malformed_topic_command_output_is_refused(tmp_path: Path, topics: str, message: str) -> None:
    """The error names the file or the line, and what is wrong there."""
    with pytest.raises(InputFileError, match=message):
        read(tmp_path, topics)


@pytest.mark.parametrize(
    ("log_dirs", "message"),
    [
        ("\n", "dirs.txt: is empty"),
        ("Querying brokers\n", "dirs.txt: no JSON line"),
        ("\n{nonsense\n", "dirs.txt, line 2: is not what LogDirsCommand"),
        ('{"version":1}', "missing key: brokers"),
        (
            LOG_DIRS.replace("errors.KafkaStorageException", "errors.ClusterAuthorizationException"),
            "line 3: broker 2 reported no log dirs: .*ClusterAuthorizationException",
        ),
    ],
)
def test_malformed_log_dirs_command_output_is_refused(tmp_path: Path, log_dirs: str, message: str) -> None:
    """A broker that refused to report is not taken for an empty one."""
    with pytest.raises(InputFileError, match=message):
        read(tmp_path, log_dirs=log_dirs)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """With the system's reason."""
    with pytest.raises(InputFileError, match="none: cannot read: No such file"):
        read_kafka_text(tmp_path / "none", None, cluster_id="x", taken_at="")
