"""``kafkabal top``: a live view of a cluster."""

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Final

import typer

from kafkabal.cli.framework.cluster_access import expect_live_cluster, open_cluster
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.command_settings import cluster_label
from kafkabal.cli.framework.selected_scores import (
    check_are_measured,
    check_shown_scores,
    inspection_of,
    unchecked_scores,
)
from kafkabal.cli.framework.shared_options import LIVE_CLUSTER, Uses, parse_interval
from kafkabal.config import Settings
from kafkabal.errors import UsageError
from kafkabal.reporting.inspection.grouping import Grouping

if TYPE_CHECKING:
    from kafkabal.cli.framework.full_screen import FullScreen
    from kafkabal.clusters import Cluster
    from kafkabal.inspection import Inspection
    from kafkabal.model import ClusterState
    from kafkabal.reporting.live_frame import LiveFrames
    from kafkabal.watch import LiveCluster, LiveReading

_KEY_WAIT_S: Final = 0.2
"""Time within which a key, a new size or a new reading shows; five wake-ups a second cost a thousandth of a core."""
_OTHERS: Final = "'kafkabal inspect' shows the cluster once, 'kafkabal watch' reports changes as lines"


def top(
    context: CommandContext,
    settings: Annotated[Settings, Uses(*LIVE_CLUSTER, "shown_scores", "shown_tolerance")],
    by: Annotated[Grouping, typer.Option("--by", help="Show rows by.")] = Grouping.BROKER,
    every_s: Annotated[
        float,
        typer.Option(
            "--every",
            metavar="TIME",
            parser=parse_interval,
            help="Interval between readings of brokers and moves.",
        ),
    ] = 5.0,
) -> None:
    """Show brokers, moves and events in a live view.

    Reads brokers and reassignments every 5 seconds and sizes every 30; less often on clusters that take long to read,
    so that it needs under 3% of a core. Press q to quit.

    Examples:

      kafkabal top

      kafkabal top --by log-dir --score disk
    """
    if not context.out.animated:
        reason = (
            "the terminal cannot be redrawn (TERM=dumb)"
            if context.stdout.isatty()
            else "standard output is not a terminal"
        )
        raise UsageError(reason, hint=_OTHERS)
    expect_live_cluster(settings, "top")
    check_shown_scores(settings)
    check_are_measured(unchecked_scores(settings), settings, rates=False)
    with open_cluster(settings, context) as cluster:
        # an unreachable cluster is an error of the command line, not of the screen
        cluster_id = cluster.cluster_id()
        name = cluster_label(settings, context) or cluster_id
        from kafkabal.cli.framework.full_screen import FullScreen
        from kafkabal.reporting.live_frame import LiveFrames

        follower = _Follower(_live(cluster, settings, by).observe, every_s)
        with FullScreen(context.stdin, context.stdout) as screen:
            follower.start()
            _show(screen, LiveFrames(name, by, context.out), follower)


def _live(cluster: "Cluster", settings: Settings, by: Grouping) -> "LiveCluster":
    from kafkabal.clusters import ReadRequest, SystemClock
    from kafkabal.watch import LiveCluster

    detailed = by is Grouping.TOPIC
    deadline_s = settings.broker_timeout_s or ReadRequest().deadline_s
    request = ReadRequest(configs=detailed, offsets=detailed, deadline_s=deadline_s)
    return LiveCluster(cluster, SystemClock(), request, lambda state: _inspection(state, settings), time.process_time)


def _inspection(state: "ClusterState", settings: Settings) -> "Inspection":
    from kafkabal.config import with_profile_disks

    return inspection_of(settings, with_profile_disks(state, settings))


def _show(screen: "FullScreen", frames: "LiveFrames", follower: "_Follower") -> None:
    """Draw new observations until the view ends."""
    drawn: tuple[object, ...] = ()
    while True:
        reading, size = follower.reading, screen.size()
        if drawn != (id(reading), size) or screen.must_redraw:
            screen.draw(frames.frame(reading, *size))
            drawn = (id(reading), size)
        if "q" in screen.key(_KEY_WAIT_S).lower():
            return


class _Follower:
    """Observes the cluster in a thread of its own, so that keys work while a broker is slow."""

    def __init__(self, observe: "Callable[[], LiveReading]", every_s: float) -> None:
        from kafkabal.watch import LiveReading

        self._observe, self._every_s = observe, every_s
        self._reading, self._error = LiveReading(), None
        self._thread = threading.Thread(target=self._follow, name="kafkabal-top", daemon=True)

    _error: BaseException | None

    @property
    def reading(self) -> "LiveReading":
        """The latest observation; raises the error if it failed."""
        if self._error is not None:
            raise self._error
        return self._reading

    def start(self) -> None:
        """Start to observe."""
        self._thread.start()

    def _follow(self) -> None:
        try:
            while True:
                next_s = time.monotonic() + self._every_s
                self._reading = self._observe()
                time.sleep(max(next_s - time.monotonic(), 0.0))
        except BaseException as error:  # noqa: BLE001 - raised again where it ends the command
            self._error = error
