"""``kafkabal rebalance throttle``: change the throttle of the active run."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.shared_options import CLUSTER, Uses
from kafkabal.config import Settings
from kafkabal.errors import UsageError
from kafkabal.units import format_stated_rate, parse_throttle

if TYPE_CHECKING:
    from kafkabal.executor import ThrottleChange


class RequestedRate(NamedTuple):
    """Requested rate between brokers."""

    bytes_per_s: int | None
    """None for an automatic rate."""


def _rate(text: str) -> RequestedRate:
    return RequestedRate(None if text == "auto" else parse_throttle(text))


def throttle(
    context: CommandContext,
    settings: Annotated[Settings, Uses(*CLUSTER)],
    rate: Annotated[
        RequestedRate | None,
        typer.Argument(
            metavar="RATE",
            parser=_rate,
            help="Rate per broker, such as 50MB/s, or 'auto' to adapt to the load of the cluster.",
        ),
    ] = None,
    log_dir_throttle: Annotated[
        int | None,
        typer.Option(
            "--log-dir-throttle",
            metavar="RATE",
            parser=parse_throttle,
            help="Throttle for moves between log dirs of one broker.",
        ),
    ] = None,
) -> None:
    """Change the throttle of the active run, from any host.

    The run uses the new rate within seconds, and keeps it when it is resumed. An interrupted run uses it once it is
    resumed. If the request cannot be stored, for example because too few brokers are alive, exits 1 after 20 s, or
    after 40 s if the leader waits for a follower. If the cluster could not store the run record, this works on the host
    of the run only.

    Examples:

      kafkabal rebalance throttle 50MB/s

      kafkabal rebalance throttle auto --log-dir-throttle 100MB/s
    """
    from kafkabal.cli.commands.rebalance.open_run_session import open_run_session
    from kafkabal.executor import ThrottleChange, request_throttle

    if rate is None and log_dir_throttle is None:
        raise UsageError("no rate given", hint="give RATE, --log-dir-throttle, or both")
    requested = ThrottleChange(
        bytes_per_s=rate.bytes_per_s if rate else None,
        is_auto=rate is not None and rate.bytes_per_s is None,
        log_dir_bytes_per_s=log_dir_throttle,
    )
    with open_run_session("rebalance throttle", settings, context) as command:
        from kafkabal.executor import current_holder

        with command.saying_if_slow():
            run_id = request_throttle(command.environment, requested)
            # only a request: taking the lock to see whether it is free would fence a process that is cut off for a
            # moment
            holder, why_unknown = current_holder(command.cluster)
    rates = " and ".join(_in_words(requested))
    if holder is not None:
        context.say(f"run {run_id} will use {rates} within seconds")
    elif why_unknown:
        context.say(
            f"run {run_id} will use {rates}: within seconds if a process works on it, otherwise once it is resumed; "
            f"the lock of the cluster cannot be read: {why_unknown}"
        )
    else:
        context.say(
            f"no process holds the lock of the cluster now: run {run_id} will use {rates} once it is resumed, "
            "with 'kafkabal rebalance resume'"
        )


def _in_words(requested: "ThrottleChange") -> Iterator[str]:
    if requested.is_auto:
        yield "an automatic rate"
    if requested.bytes_per_s is not None:
        yield f"{format_stated_rate(requested.bytes_per_s)} per broker"
    if requested.log_dir_bytes_per_s is not None:
        yield f"{format_stated_rate(requested.log_dir_bytes_per_s)} between log dirs"
