"""Options for broker measurements that Kafka itself does not report, the same for all commands."""

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

import typer

from kafkabal.cli.framework.cluster_access import await_broker
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.options_without_effect import refuse_without
from kafkabal.cli.framework.telemetry_intake import open_http_intake, open_topic_intake, parse_listen_address
from kafkabal.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from kafkabal.clusters import Cluster
    from kafkabal.config import ConnectionSettings, Settings
    from kafkabal.model import ClusterState
    from kafkabal.routing import PolicyChoice
    from kafkabal.telemetry import BrokerLatencies

_MEASUREMENTS = "Measurements"
_TOPIC = "topic"
_DEFAULT_LABEL: Final = "broker"
_TELEMETRY_AGE_S = 60.0
"""Six pushes at the default interval: a lost one changes nothing, and old loads do not count."""
_COLLECTING_S: Final = 15.0
"""The maximum: clients push every ten seconds unless a subscription changes that."""
_PAUSE_S: Final = 0.5
"""Interval of checks for new data: cheap, and a user is waiting."""


def _telemetry_source(text: str) -> str:
    if text != _TOPIC:
        parse_listen_address(text, or_else=f"'{_TOPIC}', or a port: ")
    return text


def _url(text: str) -> str:
    from kafkabal.http_client import parsed_url

    parsed_url(text)
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasurementOptions:
    """Sources of broker metrics that Kafka itself does not report."""

    telemetry: Annotated[
        str | None,
        typer.Option(
            "--telemetry",
            metavar="SOURCE",
            parser=_telemetry_source,
            help="Source of produce latencies: 'topic' (pushed by all clients) or [HOST:]PORT (OTLP/HTTP receiver).",
            rich_help_panel=_MEASUREMENTS,
        ),
    ] = None
    prometheus: Annotated[
        str | None,
        typer.Option(
            "--prometheus",
            metavar="URL",
            parser=_url,
            help="Prometheus server for the score 'prometheus'.",
            rich_help_panel=_MEASUREMENTS,
        ),
    ] = None
    prometheus_query: Annotated[
        str | None,
        typer.Option(
            "--prometheus-query",
            metavar="PROMQL",
            help="PromQL query that returns one series per broker.",
            rich_help_panel=_MEASUREMENTS,
        ),
    ] = None
    prometheus_label: Annotated[
        str | None,
        typer.Option(
            "--prometheus-label",
            metavar="LABEL",
            help="Label whose value ends in the broker id. [default: broker]",
            rich_help_panel=_MEASUREMENTS,
        ),
    ] = None

    def check_plans_leaders(self, *, is_leaders_only: bool) -> None:
        """Refuse measured scores for a plan that would do more than change leaders.

        Raises
        ------
        UsageError
            If replicas may move too.
        """
        if not is_leaders_only and self != MeasurementOptions():
            raise UsageError(
                "--telemetry and --prometheus require --leaders-only",
                hint="these scores measure brokers, not replicas: moving replicas cannot balance them",
            )

    def check_scores(
        self,
        settings: "Settings",
        context: CommandContext,
        policy: "PolicyChoice | None" = None,
        *,
        rates: bool = False,
        latency: bool = False,
    ) -> None:
        """Check that the named scores exist, that what they need is measured, and that one of them, or the routing
        policy, uses what is measured.

        Parameters
        ----------
        rates, latency
            What the command measures without these options.

        Raises
        ------
        UsageError
            If a score is unknown or lacks its measurement, if one would be taken for nothing, or if options contradict
            each other.
        """
        from kafkabal.cli.framework.selected_scores import check_are_measured, unchecked_scores

        self.query()
        scores = unchecked_scores(settings)
        if policy is not None:
            from kafkabal.routing import Input

            if not policy.may_use(Input.SCORES):
                scores = ()
        latency = latency or self.telemetry is not None
        check_are_measured(scores, settings, rates=rates, latency=latency, prometheus=self.prometheus is not None)
        if not context.given & {"--telemetry", "--prometheus"}:
            return
        from kafkabal.routing import Input
        from kafkabal.scoring import Need

        needs = {need for weighted in scores for need in weighted.score.needs}
        if policy is not None and policy.may_use(Input.LATENCY):
            needs.add(Need.TELEMETRY)
        for option, need, score in (
            ("--telemetry", Need.TELEMETRY, "latency"),
            ("--prometheus", Need.PROMETHEUS, "prometheus"),
        ):
            if need not in needs:
                refuse_without("a score that uses it", [option], context, hint=f"add --score {score}")
        if self.telemetry is not None and settings.snapshot is not None:
            raise ConfigError("--telemetry requires a live cluster", hint="give --bootstrap-server HOST:PORT")

    def query(self) -> "Callable[[], Mapping[int, float]] | None":
        """The Prometheus query, if one is given.

        Raises
        ------
        UsageError
            If only the URL or only the query is given, or only a label.
        """
        if (self.prometheus is None) != (self.prometheus_query is None):
            raise UsageError(
                "--prometheus and --prometheus-query must be given together",
                hint="for example: --prometheus http://prometheus:9090 --prometheus-query 'node_load1'",
            )
        if self.prometheus is None or self.prometheus_query is None:
            if self.prometheus_label is not None:
                raise UsageError("--prometheus-label requires --prometheus and --prometheus-query")
            return None
        from kafkabal.telemetry import PrometheusQuery

        return PrometheusQuery(self.prometheus, self.prometheus_query, self.prometheus_label or _DEFAULT_LABEL)

    @contextmanager
    def latencies(
        self, cluster: "Cluster", connection: "ConnectionSettings", refresh_s: float, context: CommandContext
    ) -> "Iterator[BrokerLatencies | None]":
        """Wait for a broker, and collect latencies while the block lasts; yields None at once if producers measure
        them.

        Raises
        ------
        UsageError
            If nothing forwards telemetry, or the address cannot be bound.
        UnreachableError
            If no broker responds.
        """
        if self.telemetry is None:
            yield None
            return
        from kafkabal.config import REFRESHES_TO_FORGET
        from kafkabal.telemetry import LatencyTable

        table = LatencyTable(max_age_s=max(_TELEMETRY_AGE_S, REFRESHES_TO_FORGET * refresh_s), clock=context.monotonic)
        if self.telemetry == _TOPIC:
            # waits for a broker itself
            with open_topic_intake(cluster, connection, None, table, context, before_s=_TELEMETRY_AGE_S):
                yield table
        else:
            with open_http_intake(self.telemetry, table):
                await_broker(cluster, context)
                yield table

    def completed(
        self, state: "ClusterState", cluster: "Cluster", settings: "Settings", context: CommandContext
    ) -> "ClusterState":
        """Add current measurements to the state, for a command that reads the cluster once.

        Latencies are collected until every live broker has one, for some seconds at most; a broker that no client wrote
        to stays unknown.

        Raises
        ------
        UsageError
            If nothing forwards telemetry, an address cannot be bound, or options contradict each other.
        KafkabalError
            If Prometheus does not respond.
        """
        query = self.query()
        if query is None and self.telemetry is None:
            return state
        from kafkabal.model import PRODUCE_LATENCY, PROMETHEUS_VALUE

        measured = dict(state.measured)
        if query is not None:
            measured[PROMETHEUS_VALUE] = state.brokers.column_of(query())
        if self.telemetry is not None:
            live = frozenset(state.brokers.id[state.brokers.is_live].tolist())
            found = self._collected(cluster, settings, live, context)
            measured[PRODUCE_LATENCY] = state.brokers.column_of(found)
        return state.replace(measured=measured)

    def _collected(
        self, cluster: "Cluster", settings: "Settings", brokers: frozenset[int], context: CommandContext
    ) -> "Mapping[int, float]":
        from kafkabal.config import ConnectionSettings, cluster_address

        address = cluster_address(settings)
        if not isinstance(address, ConnectionSettings):
            raise ConfigError("--telemetry requires a live cluster", hint="give --bootstrap-server HOST:PORT")
        end_s = context.monotonic() + _COLLECTING_S
        with self.latencies(cluster, address, _COLLECTING_S, context) as latencies:
            assert latencies is not None
            context.say(f"collecting latencies for at most {_COLLECTING_S:g} s")
            while not brokers <= (found := latencies.latencies_s()).keys() and context.monotonic() < end_s:
                context.sleep(_PAUSE_S)
        return found
