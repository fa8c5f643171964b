"""``kafkabal demo``: the main commands, run on a sandbox of its own."""

import shlex
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.config import DEFAULT_CHECK_TOLERANCE
from kafkabal.errors import BusyError, ExitCode, KafkabalError, OperationError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

_SANDBOX: Final = "demo"
_TOPIC: Final = "images"
_PARTITIONS: Final = 48
"""Enough that a balance within the tolerance exists."""
_PLACEMENT: Final = "binomial:0.5:1"
_LEAST_SKEW: Final = 0.3
"""Well above the tolerance, so that every step of the story shows a change."""
_NEXT: Final = """\
The cluster stays up; kafkabal uses it by default. Try:

  kafkabal inspect --by log-dir
  kafkabal rebalance --drain 3 --dry-run
  kafkabal sandbox kill 5 --name demo && kafkabal inspect
  kafkabal route-simulate --topic images --policy score --policy default
  kafkabal sandbox down --name demo"""


def demo(
    context: CommandContext,
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave the cluster running and suggest commands to try.")
    ] = False,
) -> ExitCode:
    """Inspect and rebalance an unbalanced cluster in a sandbox (usually under a minute).

    Starts a real Apache Kafka cluster of six brokers in three racks on this machine, places a topic unevenly, fills it,
    and runs the commands that you would run. The exit code is 1 if the cluster is not unbalanced at the start or not
    balanced at the end.
    """
    from kafkabal.sandbox import expect_extra

    expect_extra()
    started_s = context.monotonic()
    with ExitStack() as cleaning:
        cleaning.enter_context(_only_one(context))
        story = _Story(context)
        if not keep:
            cleaning.callback(story.run, "sandbox", "down", "--name", _SANDBOX)
        story.tell("Start a real Apache Kafka cluster: six brokers in three racks, two log dirs each")
        story.run("sandbox", "up", "--name", _SANDBOX, "--brokers", "6", "--racks", "3", "--log-dirs", "2", "-q")
        cluster = story.on_sandbox()
        before = _fill(cluster, Path(cleaning.enter_context(tempfile.TemporaryDirectory())))
        after = _show_rebalance(cluster)
        if keep:
            context.say(f"\n{_NEXT}")
    context.say(
        f"\nThe disk skew went from {before:.0%} to {after:.0%}; the demo took {context.monotonic() - started_s:.0f} s."
    )
    return ExitCode.DONE


def _only_one(context: CommandContext) -> "AbstractContextManager[None]":
    """Refuse a second demo: they would share one sandbox, and the first to finish would remove it."""
    from kafkabal.sandbox import HOME_VARIABLE, claimed, home_of

    home = home_of(context.environ, context.state_dir)
    busy = BusyError(
        f"another kafkabal demo is running: sandbox {_SANDBOX} in {home}",
        hint=f"wait for it to finish, or use another folder: {HOME_VARIABLE}=DIR kafkabal demo",
    )
    return claimed(home / f".{_SANDBOX}.story", busy)


class _Story:
    """Shows each command as one would type it, then runs it."""

    def __init__(self, context: CommandContext) -> None:
        self._context = context

    def tell(self, text: str) -> None:
        self._context.say(f"\n# {text}")

    def run(self, *words: str) -> None:
        """Run a command.

        Raises
        ------
        OperationError
            If the command fails; its error has been printed already.
        """
        from kafkabal.cli.main import main

        self._context.say(f"$ kafkabal {shlex.join(words)}")
        code = main(words, self._context)
        if code:
            raise OperationError(f"kafkabal {words[0]} failed with exit code {code}")

    def on_sandbox(self) -> "_Story":
        """The same story, with every command on the sandbox and no other cluster."""
        return _Story(replace(self._context, environ=_only_profile(self._context.environ, self._sandbox_profile())))

    def disk_skew(self) -> float:
        """Current skew of the disks, as ``inspect`` computes it."""
        from kafkabal.cli.framework.cluster_access import open_cluster, read_cluster
        from kafkabal.cli.framework.command_settings import command_settings
        from kafkabal.clusters import FOR_REPORTS
        from kafkabal.scoring import evaluate, load_score

        settings = command_settings({}, self._context)
        with open_cluster(settings, self._context) as cluster:
            state = read_cluster(cluster, settings, self._context, FOR_REPORTS).state
        return evaluate(load_score("disk"), state, tolerance=DEFAULT_CHECK_TOLERANCE).skew

    def _sandbox_profile(self) -> Path:
        from kafkabal.sandbox import find_sandbox, home_of

        return find_sandbox(_SANDBOX, home=home_of(self._context.environ, self._context.state_dir)).profile_path


def _only_profile(environ: Mapping[str, str], profile: Path) -> dict[str, str]:
    """The environment without KAFKABAL_ options, which may name another cluster."""
    others = {key: value for key, value in environ.items() if not key.startswith("KAFKABAL_") or "SANDBOX" in key}
    return {**others, "KAFKABAL_PROFILE": str(profile)}


def _fill(story: _Story, folder: Path) -> float:
    """Place a topic unevenly, fill it, show the result, and return the skew of the disks."""
    from kafkabal.sandbox import write_data_set

    story.tell("Create a topic with unevenly distributed leaders, as after years of growth")
    story.run("create", _TOPIC, "-p", str(_PARTITIONS), "-r", "2", "--placement", _PLACEMENT)
    story.tell("Produce a data set: one record per file, partitioned by a hash of its path, as most clients do")
    data_set = write_data_set(folder / "images", seed=1)
    story.run("produce", _TOPIC, str(data_set), "--policy", "key-hash", "--key", "path", "--no-manifest")
    story.tell("Show the imbalance")
    story.run("inspect")
    skew = story.disk_skew()
    if skew < _LEAST_SKEW:
        raise OperationError(f"the cluster is already balanced: skew {skew:.2f}, the demo needs at least {_LEAST_SKEW}")
    story.tell("Simulate how each routing policy would have distributed this data set over the same topic")
    policies = ("--policy", "key-hash", "--policy", "default", "--policy", "score")
    story.run("route-simulate", "--topic", _TOPIC, "--data", str(data_set), *policies)
    return skew


def _show_rebalance(story: _Story) -> float:
    """Rebalance, show the result, and return the skew of the disks."""
    story.tell("Rebalance, with a throttle")
    story.run("rebalance", "--yes", "--throttle", "4MB/s")
    story.tell("Show the result")
    try:
        story.run("inspect", "--check")
    except KafkabalError as error:
        raise OperationError("the cluster is still outside the tolerance") from error
    return story.disk_skew()
