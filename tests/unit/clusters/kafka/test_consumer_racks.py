"""Racks of consumers: what coordinators report, and what they cannot."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from kafkabal.clusters.kafka.consumer_racks import consumer_racks
from kafkabal.clusters.kafka.messages import ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse
from kafkabal.errors import UnreachableError
from kafkabal.inspection import inspect_cluster
from kafkabal.reporting.inspection.grouping import Grouping
from kafkabal.reporting.inspection.inspection_report import inspection_report
from kafkabal.testing.synthetic_clusters import SyntheticWorld, make_world


def _member(client: str, rack: str | None) -> Any:
    return SimpleNamespace(client_id=client, client_host="/10.0.0.1", rack_id=rack)


class _Client:
    """Two brokers, of which one does not respond."""

    def supports(self, request: Any) -> bool:
        return request is ConsumerGroupDescribeRequest

    def metadata(self, topics: Any) -> None:
        """Nothing to refresh."""

    def nodes(self) -> Any:
        return SimpleNamespace(by_id={1: None, 2: None})

    def for_each(self, brokers: Any, task: Any) -> dict[int, Any]:
        return {1: task(1, None), 2: UnreachableError("broker 2: no response")}

    def call_broker(self, broker: int, request: Any, deadline: Any) -> Any:
        if isinstance(request, ConsumerGroupDescribeRequest):
            assert request.group_ids == ["new"]
            members = [_member("a", "r1"), _member("b", "r1"), _member("c", None), _member("d", "")]
            return SimpleNamespace(groups=[SimpleNamespace(error_code=0, group_id="new", members=members)])
        kinds = (("new", "consumer", "Consumer"), ("old", "consumer", "Classic"), ("connect", "connect", "Classic"))
        groups = [SimpleNamespace(group_id=g, protocol_type=p, group_type=t) for g, p, t in kinds]
        return SimpleNamespace(error_code=0, groups=groups)


def test_members_are_counted_and_those_without_a_rack_named() -> None:
    """Members of KIP-848 groups by rack; a classic group is only counted, one without a consumer protocol is not."""
    racks = consumer_racks(_Client())  # type: ignore[arg-type]

    assert racks.members_by_rack == {"r1": 2}
    assert racks.without_rack == ("new/c (10.0.0.1)", "new/d (10.0.0.1)")
    assert racks.classic_groups == 1
    report = inspection_report(inspect_cluster(make_world(SyntheticWorld())), Grouping.RACK, consumer_racks=racks)
    assert report.notes[-3:] == (
        "2 of 4 consumers that can report their rack set client.rack",
        "without client.rack: new/c (10.0.0.1), new/d (10.0.0.1)",
        "1 group of the classic protocol: brokers do not know the racks of their consumers",
    )


def test_the_message_is_that_of_kafka() -> None:
    """Both have the key that the protocol assigns them."""
    assert (ConsumerGroupDescribeRequest.API_KEY, ConsumerGroupDescribeResponse.API_KEY) == (69, 69)
