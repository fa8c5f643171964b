"""Requests reach the right broker, or another one if that is allowed."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest
from kafka.protocol.admin import (
    AlterPartitionReassignmentsRequest,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
)
from kafka.protocol.metadata import ApiVersionsResponse

from kafkabal.clusters.kafka import kafka_client
from kafkabal.clusters.kafka.broker_address import parse_address
from kafkabal.clusters.kafka.kafka_client import KafkaClient
from kafkabal.errors import ConfigError, NoResponseError, RefusedByClusterError, UnreachableError


@pytest.fixture
def nobody() -> str:
    """An address without a listener."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


def _describe() -> Any:
    return DescribeLogDirsRequest(topics=None)


def _answer_log_dirs(code: int = 0) -> Callable[[Any], Any]:
    return lambda request: DescribeLogDirsResponse(error_code=code, results=[])


def _elect(client: KafkaClient, *, may_repeat: bool = False) -> int:
    request = ElectLeadersRequest(election_type=0, topic_partitions=None, timeout_ms=1)
    answer = client.call_controller(request, lambda answer: (answer.error_code,), may_repeat=may_repeat)
    return int(answer.error_code)


def test_metadata_names_brokers_racks_and_controller(
    fake_cluster: Callable[..., Any], make_client: Callable[..., KafkaClient]
) -> None:
    """One bootstrap server's metadata describes all brokers."""
    cluster = fake_cluster(3)
    cluster.controller = 2
    nodes = make_client(cluster.settings(1)).nodes()
    assert sorted(nodes.by_id) == [1, 2, 3]
    assert nodes.by_id[3].rack == "r3"
    assert (nodes.controller, nodes.cluster_id) == (2, "fake")


def test_a_bootstrap_server_that_is_down_does_not_matter(
    fake_cluster: Callable[..., Any], make_client: Callable[..., KafkaClient], nobody: str
) -> None:
    """If one refuses connections, the next one in the list is asked."""
    cluster = fake_cluster(1)
    live = cluster.settings().bootstrap_servers
    assert make_client(cluster.settings(bootstrap_servers=(nobody, *live))).nodes().by_id


def test_a_bootstrap_server_that_hangs_does_not_matter(
    fake_cluster: Callable[..., Any], make_client: Callable[..., KafkaClient], silence: object
) -> None:
    """If one accepts but never responds, the next one overtakes it."""
    cluster = fake_cluster(2)
    cluster.brokers[1].answers["ApiVersions"] = lambda request: silence
    make_client(cluster.settings(1, 2)).nodes()
    assert cluster.brokers[2].asked("Metadata")


def test_a_bootstrap_server_that_hangs_delays_only_the_first_question(
    fake_cluster: Callable[..., Any],
    make_client: Callable[..., KafkaClient],
    silence: object,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Later ones go to the server that has responded, without a head start for the one before it in the list."""
    cluster = fake_cluster(2)
    cluster.brokers[1].answers["ApiVersions"] = lambda request: silence
    client = make_client(cluster.settings(1, 2, connect_timeout_s=3600.0, request_timeout_s=3600.0))
    assert client.supports(_describe())
    monkeypatch.setattr(kafka_client, "_HEAD_START_S", 3600.0)
    assert client.supports(_describe())


def test_a_bootstrap_server_that_hangs_once_it_is_connected_does_not_matter(
    fake_cluster: Callable[..., Any], make_client: Callable[..., KafkaClient], silence: object
) -> None:
    """One that was paused between both responses costs its share of the time; with the rest another one is asked."""
    cluster = fake_cluster(2)

    def hang(_: Any) -> object:
        cluster.brokers[1].answers["ApiVersions"] = lambda _: silence
        return silence

    cluster.brokers[1].answers["Metadata"] = hang
    assert make_client(cluster.settings(1, 2, request_timeout_s=6.0)).nodes().by_id
    assert (len(cluster.brokers[1].asked("Metadata")), len(cluster.brokers[2].asked("Metadata"))) == (1, 1)


def test_a_bootstrap_server_that_hangs_for_another_thread_does_not_matter(
    fake_cluster: Callable[..., Any], make_client: Callable[..., KafkaClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It responded first, but before the next request another thread sent it one that hangs: another one is asked.
    Otherwise all brokers would pass for unreachable because of one."""
    cluster = fake_cluster(2)
    client = make_client(cluster.settings(1, 2, request_timeout_s=6.0))
    first_seed, hung = client._first_seed, client._link(client._seeds[1])
    seeds = iter([hung])
    monkeypatch.setattr(client, "_first_seed", lambda deadline: next(seeds, None) or first_seed(deadline))
    with hung._turn:
        assert client.nodes().by_id
    assert (len(cluster.brokers[1].asked("Metadata")), len(cluster.brokers[2].asked("Metadata"))) == (1, 0)


def test_no_bootstrap_server_is_reported_with_every_reason(
    fake_cluster: Callable[..., Any], make_client: Callable[..., KafkaClient], nobody: str
) -> None:
    """The message lists each address with its error."""
    settings = fake_cluster().settings(bootstrap_servers=(nobody, "no-such-host.invalid:1"))
    with pytest.raises(UnreachableError, match=r"connection refused; .*unknown host name"):
        make_client(settings).nodes()


def test_a_reason_that_all_bootstrap_servers_share_is_reported_once(
    fake_cluster: Callable[..., Any], make_client: Callable[..., KafkaClient], nobody: str
) -> None:
    """The other addresses follow it."""
    settings = fake_cluster().settings(bootstrap_servers=(nobody, "127.0.0.1:1"))
    with pytest.raises(UnreachableError) as caught:
        make_client(settings).nodes()
    assert caught.value.message == f"cannot reach {nobody}: connection refused (the same with 127.0.0.1:1)"


def test_a_reason_that_lasts_has_the_same_words(
    fake_cluster: Callable[..., Any], make_client: Callable[..., KafkaClient], nobody: str
) -> None:
    """Addresses are in the order given, though those that failed less often are tried first: logs that say something
    once compare words."""
    client = make_client(fake_cluster().settings(bootstrap_servers=(nobody, "127.0.0.1:1")))
    words = set()
    for _ in range(2):
        with pytest.raises(UnreachableError) as caught:
            client.nodes()
        words.add(caught.value.message)
        with pytest.raises(UnreachableError):
            client._link(parse_address(nobody)).versions(client.deadline())
    assert words == {f"cannot reach {nobody}: connection refused (the same with 127.0.0.1:1)"}


def test_an_invalid_bootstrap_server_is_reported_before_anything_is_sent(
    fake_cluster: Callable[..., Any], make_client: Callable[..., KafkaClient]
) -> None:
    """The settings are wrong, not the network."""
    with pytest.raises(ConfigError, match="invalid broker address: 'broker1'"):
        make_client(fake_cluster().settings(bootstrap_servers=("broker1",)))


def test_a_request_goes_to_its_broker(
    fake_cluster: Callable[..., Any], make_client: Callable[..., KafkaClient]
) -> None:
    """Only the named broker is asked, over its open connection."""
    cluster = fake_cluster(2)
    cluster.answer("DescribeLogDirs", _answer_log_dirs())
    client = make_client(cluster.settings(1))
    for _ in range(2):
        client.call_broker(2, _describe())
    assert len(cluster.brokers[2].asked("DescribeLogDirs")) == 2
    assert cluster.brokers[2].connections == 1
    assert cluster.brokers[1].asked("DescribeLogDirs") == []


def test_a_broker_that_is_not_registered_is_looked_for_and_then_named(
    fake_cluster: Callable[..., Any], make_client: Callable[..., KafkaClient]
) -> None:
    """Metadata is requested again before a broker counts as gone."""
    cluster = fake_cluster(1)
    client = make_client(cluster.settings())
    client.nodes()
    with pytest.raises(UnreachableError, match="broker 9 is not registered"):
        client.call_broker(9, _describe())
    assert len(cluster.asked("Metadata")) == 2


def test_a_connection_that_was_closed_is_opened_again(
    fake_cluster: Callable[..., Any], make_client: Callable[..., KafkaClient]
) -> None:
    """A broker that closed an idle connection is not taken for dead."""
    cluster = fake_cluster(1)
    cluster.answer("DescribeLogDirs", _answer_log_dirs())
    client = make_client(cluster.settings())
    client.call_broker(1, _describe())
    cluster.brokers[1].drop_connections()
    client.call_broker(1, _describe())
    assert cluster.brokers[1].connections == 2


def test_a_read_goes_to_another_broker_when_one_hangs(
    fake_cluster: Callable[..., Any], make_client: Callable[..., KafkaClient], silence: object
) -> None:
    """A paused broker costs its share of the time, but not the response, and is not asked first again."""
    cluster = fake_cluster(2)
    cluster.answer("DescribeLogDirs", _answer_log_dirs())
    client = make_client(cluster.settings(1, request_timeout_s=6.0))
    client.nodes()
    cluster.brokers[1].answers["DescribeLogDirs"] = lambda request: silence
    for _ in range(2):
        client.call_any(_describe())
    assert len(cluster.brokers[1].asked("DescribeLogDirs")) == 1
    assert len(cluster.brokers[2].asked("DescribeLogDirs")) == 2


def test_a_change_is_put_to_the_controller(
    fake_cluster: Callable[..., Any], make_client: Callable[..., KafkaClient]
) -> None:
    """The broker named in the metadata gets it."""
    cluster = fake_cluster(3)
    cluster.controller = 3
    cluster.answer("ElectLeaders", lambda request: ElectLeadersResponse(error_code=0, replica_election_results=[]))
    _elect(make_client(cluster.settings(1)))
    assert cluster.brokers[3].asked("ElectLeaders")


def test_a_change_follows_the_controller(
    fake_cluster: Callable[..., Any], make_client: Callable[..., KafkaClient]
) -> None:
    """A broker that is no longer the controller is followed by the new one."""
    cluster = fake_cluster(2)

    def answer(number: int) -> Callable[[Any], Any]:
        def elect(request: Any) -> Any:
            cluster.controller = 2
            return ElectLeadersResponse(error_code=41 if number == 1 else 0, replica_election_results=[])

        return elect

    for number, broker in cluster.brokers.items():
        broker.answers["ElectLeaders"] = answer(number)
    assert _elect(make_client(cluster.settings())) == 0
    assert [len(broker.asked("ElectLeaders")) for broker in cluster.brokers.values()] == [1, 1]


def test_a_controller_that_never_settles_is_reported_in_time(
    fake_cluster: Callable[..., Any], make_client: Callable[..., KafkaClient]
) -> None:
    """When the time is up, the last response is returned."""
    cluster = fake_cluster(1)
    cluster.answer("ElectLeaders", lambda request: ElectLeadersResponse(error_code=41, replica_election_results=[]))
    assert _elect(make_client(cluster.settings(request_timeout_s=2.0))) == 41
    assert len(cluster.asked("ElectLeaders")) > 1


def test_a_change_without_a_response_is_not_repeated(
    fake_cluster: Callable[..., Any], make_client: Callable[..., KafkaClient], hang_up: object
) -> None:
    """It may have taken effect, so the caller must decide."""
    cluster = fake_cluster(2)
    cluster.answer("ElectLeaders", lambda request: hang_up)
    with pytest.raises(NoResponseError):
        _elect(make_client(cluster.settings()))
    assert len(cluster.asked("ElectLeaders")) == 1


def test_the_whole_time_is_named_if_no_controller_responds(
    fake_cluster: Callable[..., Any], make_client: Callable[..., KafkaClient], hang_up: object
) -> None:
    """As while the quorum is lost: the last of several attempts has only the rest of the time, which says nothing."""
    cluster = fake_cluster(2)
    cluster.answer("ElectLeaders", lambda request: hang_up)
    client = make_client(cluster.settings(request_timeout_s=2.0))
    with pytest.raises(NoResponseError, match=r"^no controller responded within 2 s: 127\.0\.0\.1:\d+ "):
        _elect(client, may_repeat=True)
    assert len(cluster.asked("ElectLeaders")) > 1


def test_a_controller_that_hangs_is_named_with_the_broker_that_was_asked(
    fake_cluster: Callable[..., Any], make_client: Callable[..., KafkaClient], silence: object
) -> None:
    """A change is given up after the time of one broker; the one that forwards it need not be what hangs."""
    cluster = fake_cluster(2)
    cluster.answer("ElectLeaders", lambda request: silence)
    with pytest.raises(NoResponseError, match=r"^no controller responded within 1\.5 s: 127\.0\.0\.1:\d+ did not"):
        _elect(make_client(cluster.settings(request_timeout_s=3600.0, broker_timeout_s=1.5)))
    assert len(cluster.asked("ElectLeaders")) == 1


def test_each_broker_gets_its_time_if_any_can_answer(
    fake_cluster: Callable[..., Any], make_client: Callable[..., KafkaClient], silence: object
) -> None:
    """Three are asked in turn, whatever the timeout of the request allows beyond that."""
    cluster = fake_cluster(2)
    client = make_client(cluster.settings(request_timeout_s=3600.0, broker_timeout_s=1.5))
    client.nodes()
    cluster.answer("DescribeLogDirs", lambda request: silence)
    with pytest.raises(NoResponseError):
        client.call_any(_describe())
    assert len(cluster.asked("DescribeLogDirs")) > 1


def test_a_read_without_a_response_goes_to_another_broker(
    fake_cluster: Callable[..., Any], make_client: Callable[..., KafkaClient], hang_up: object
) -> None:
    """It changes nothing, so it can be repeated; the unresponsive broker is not asked again."""
    cluster = fake_cluster(2)
    cluster.brokers[1].answers["ElectLeaders"] = lambda request: hang_up
    cluster.brokers[2].answers["ElectLeaders"] = lambda request: ElectLeadersResponse(
        error_code=0, replica_election_results=[]
    )
    client = make_client(cluster.settings(2))
    assert client.nodes().controller == 1
    assert _elect(client, may_repeat=True) == 0
    assert [len(broker.asked("ElectLeaders")) for broker in cluster.brokers.values()] == [1, 1]


def test_a_dead_controller_costs_a_read_the_time_of_one_broker(
    fake_cluster: Callable[..., Any], make_client: Callable[..., KafkaClient], silence: object
) -> None:
    """Brokers hold a request until there is a controller: each of three is sent it once, while the others wait."""
    cluster = fake_cluster(4)
    cluster.answer("ElectLeaders", lambda request: silence)
    client = make_client(cluster.settings(1, request_timeout_s=30.0, broker_timeout_s=1.5))
    with pytest.raises(NoResponseError, match=r"^no controller responded within 1\.5 s: 127\.0\.0\.1:\d+ did not"):
        _elect(client, may_repeat=True)
    assert sorted(len(broker.asked("ElectLeaders")) for broker in cluster.brokers.values()) == [0, 1, 1, 1]


def test_a_broker_that_hangs_costs_a_read_of_the_controller_a_part_of_its_time(
    fake_cluster: Callable[..., Any], make_client: Callable[..., KafkaClient], silence: object
) -> None:
    """Another one is sent the request meanwhile, also if a deadline is given for the whole; the next request goes to
    one that does not hang."""
    cluster = fake_cluster(3)
    cluster.answer("ElectLeaders", lambda request: ElectLeadersResponse(error_code=0, replica_election_results=[]))
    cluster.brokers[1].answers["ElectLeaders"] = lambda request: silence
    client = make_client(cluster.settings(2))
    client.nodes()
    request = ElectLeadersRequest(election_type=0, topic_partitions=None, timeout_ms=1)
    answer = client.call_controller(request, lambda answer: (answer.error_code,), client.deadline(6.0), may_repeat=True)
    assert answer.error_code == 0
    assert client._known_links()[0].address != parse_address(cluster.settings(1).bootstrap_servers[0])


def test_a_controller_that_is_slow_is_awaited_where_brokers_do_not_forward(
    fake_cluster: Callable[..., Any], make_client: Callable[..., KafkaClient]
) -> None:
    """With ZooKeeper the others only say that they are not the controller, which must not hide its response."""
    cluster = fake_cluster(2)
    asked = threading.Event()

    def refuse(_: Any) -> Any:
        asked.set()
        return ElectLeadersResponse(error_code=41, replica_election_results=[])

    def respond_later(_: Any) -> Any:
        assert asked.wait(30)
        return ElectLeadersResponse(error_code=0, replica_election_results=[])

    cluster.brokers[1].answers["ElectLeaders"] = respond_later
    cluster.brokers[2].answers["ElectLeaders"] = refuse
    client = make_client(cluster.settings(2, request_timeout_s=30.0, broker_timeout_s=5.0))
    assert _elect(client, may_repeat=True) == 0
    assert [len(broker.asked("ElectLeaders")) for broker in cluster.brokers.values()] == [1, 1]


def test_a_controller_that_cannot_be_connected_to_is_replaced(
    fake_cluster: Callable[..., Any], make_client: Callable[..., KafkaClient]
) -> None:
    """Nothing was sent, so the new controller is asked."""
    cluster = fake_cluster(2)
    cluster.answer("ElectLeaders", lambda request: ElectLeadersResponse(error_code=0, replica_election_results=[]))
    client = make_client(cluster.settings(2))
    client.nodes()
    cluster.brokers[1].close()
    cluster.controller = 2
    assert _elect(client) == 0


def test_a_controller_that_failed_lately_is_not_asked_first(
    fake_cluster: Callable[..., Any], make_client: Callable[..., KafkaClient]
) -> None:
    """Another broker forwards the request (KRaft), or says that it is not the controller; only then the failed one is
    asked."""
    cluster = fake_cluster(2)
    cluster.answer("ElectLeaders", lambda request: ElectLeadersResponse(error_code=0, replica_election_results=[]))
    client = make_client(cluster.settings(2))
    client.nodes()
    client._link(client.nodes().by_id[1].address).failures = 1
    assert _elect(client) == 0
    assert [len(broker.asked("ElectLeaders")) for broker in cluster.brokers.values()] == [0, 1]
    cluster.brokers[2].answers["ElectLeaders"] = lambda request: ElectLeadersResponse(
        error_code=41, replica_election_results=[]
    )
    assert _elect(client) == 0
    assert [len(broker.asked("ElectLeaders")) for broker in cluster.brokers.values()] == [1, 2]


def test_supported_requests_follow_from_api_versions(
    fake_cluster: Callable[..., Any], make_client: Callable[..., KafkaClient]
) -> None:
    """A request that brokers only support in an older version does not count as supported in the newer one."""
    client = make_client(fake_cluster(1, versions={3: (1, 12), 18: (0, 3), 35: (1, 2)}).settings())
    assert client.supports(DescribeLogDirsRequest, 2)
    assert not client.supports(DescribeLogDirsRequest, 4)
    assert not client.supports(AlterPartitionReassignmentsRequest)


def test_refused_credentials_are_reported_as_such_although_another_server_is_down(
    fake_cluster: Callable[..., Any], make_client: Callable[..., KafkaClient], nobody: str
) -> None:
    """An error that the user can fix takes precedence over an unreachable address."""
    cluster = fake_cluster(1)
    cluster.brokers[1].answers["ApiVersions"] = lambda request: ApiVersionsResponse(error_code=58, api_keys=[])
    live = cluster.settings().bootstrap_servers
    with pytest.raises(RefusedByClusterError):
        make_client(cluster.settings(bootstrap_servers=(nobody, *live))).nodes()


def test_the_listener_of_the_active_controller_is_found(
    fake_cluster: Callable[..., Any], make_client: Callable[..., KafkaClient]
) -> None:
    """Of several bootstrap controllers, the one that does not return NOT_CONTROLLER gets the request."""
    cluster = fake_cluster(3)
    cluster.answer("ElectLeaders", lambda request: ElectLeadersResponse(error_code=41, replica_election_results=[]))
    cluster.brokers[3].answers["ElectLeaders"] = lambda request: ElectLeadersResponse(
        error_code=0, replica_election_results=[]
    )
    cluster.brokers[1].close()
    settings = cluster.settings()
    client = make_client(cluster.settings(bootstrap_controllers=settings.bootstrap_servers))
    request = ElectLeadersRequest(election_type=0, topic_partitions=None, timeout_ms=1)
    answer = client.call_controller_listener(request, lambda answer: (answer.error_code,))
    assert answer.error_code == 0
