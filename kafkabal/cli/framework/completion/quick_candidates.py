"""Names for shell completion, found without importing typer: a shell asks for them at every TAB."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.command_settings import PROFILES_FILE, command_settings, runs_folder
from kafkabal.errors import KafkabalError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kafkabal.config import Settings

# other characters could be special to a shell, and a first '-' makes an option: such names must be typed
_SAFE: Final = re.compile(r"[\w.:/@+][\w.:/@+-]*")
DEFAULT_SANDBOX: Final = "default"
_FLAGS: Final = {
    "-b": "bootstrap_servers",
    "--bootstrap-server": "bootstrap_servers",
    "--command-config": "command_config",
    "--profile": "profile",
    "--snapshot": "snapshot",
    "--zookeeper": "zookeeper",
    "--name": "name",
    "--plan": "plan",
}
_OWN_VARIABLES: Final = ("KAFKABAL_NAME", "KAFKABAL_PLAN")


class CandidateKind(StrEnum):
    """The kinds of names that can be completed."""

    TOPICS = "topics"
    BROKERS = "brokers"
    PROFILES = "profiles"
    SANDBOXES = "sandboxes"
    NODES = "nodes"
    PARTITIONS = "partitions"
    RUNS = "runs"


def candidate_lines(
    kind: CandidateKind, context: CommandContext, settings: Settings, name: str, plan: Path | None
) -> str:
    """The names of a kind, one per line.

    Raises
    ------
    KafkabalError
        If a profile or a plan cannot be read.
    """
    return "".join(f"{each}\n" for each in _names(kind, context, settings, name, plan) if _SAFE.fullmatch(each))


def quick_candidates(words: Sequence[str], context: CommandContext) -> str | None:
    """The output of ``completion candidates`` for these words.

    None if they are not exactly those that the shell scripts pass, or something is wrong: the command itself then
    reports it.
    """
    kind, *rest = words or [""]
    given: dict[str, Any] = {_FLAGS.get(flag, ""): value for flag, value in zip(rest[::2], rest[1::2], strict=False)}
    is_plain = kind in {*CandidateKind} and len(rest) == 2 * len(given) and "" not in given and all(given.values())
    if not is_plain or any(context.environ.get(variable) for variable in _OWN_VARIABLES):
        return None
    name, plan = given.pop("name", DEFAULT_SANDBOX), given.pop("plan", None)
    try:
        settings = command_settings(dict.fromkeys(_FLAGS.values()) | given, context)
        return candidate_lines(CandidateKind(kind), context, settings, name, Path(plan) if plan else None)
    except KafkabalError:
        return None


def _names(
    kind: CandidateKind, context: CommandContext, settings: Settings, name: str, plan: Path | None
) -> Iterable[str]:
    from kafkabal.cli.framework.completion.cached_names import cached_names

    match kind:
        case CandidateKind.TOPICS:
            return cached_names(settings, context.cache_dir).topics
        case CandidateKind.BROKERS:
            return map(str, cached_names(settings, context.cache_dir).brokers)
        case CandidateKind.PROFILES:
            from kafkabal.config import profile_names

            return profile_names(context.config_dir / PROFILES_FILE)
        case CandidateKind.PARTITIONS:
            from kafkabal.plan import read_plan

            return (str(change.name) for change in read_plan(plan).partitions) if plan else ()
        case CandidateKind.RUNS:
            return _run_ids(cached_names(settings, context.cache_dir).cluster_id, context, settings)
        case CandidateKind.SANDBOXES | CandidateKind.NODES:
            return _sandbox_names(kind, context, name)


def _run_ids(cluster_id: str, context: CommandContext, settings: Settings) -> Iterable[str]:
    """Runs of this host on one cluster, from the names of their journals."""
    from kafkabal.user_folders import cluster_folder

    return sorted(path.stem for path in cluster_folder(runs_folder(settings, context), cluster_id).glob("*.jsonl"))


def _sandbox_names(kind: CandidateKind, context: CommandContext, name: str) -> Iterable[str]:
    from kafkabal.sandbox import home_of, readable_records

    records = [record for _, record in readable_records(home_of(context.environ, context.state_dir))]
    if kind is CandidateKind.SANDBOXES:
        return (record.name for record in records)
    return (str(node.id) for record in records if record.name == name for node in record.nodes)
