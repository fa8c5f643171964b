"""The clusters of a command that accepts several: one, or those of several profiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final, TypeVar

from kafkabal.cli.framework.command_settings import PROFILES_FILE, command_settings
from kafkabal.errors import ConfigError, UsageError
from kafkabal.wording import first_of

if TYPE_CHECKING:
    from kafkabal.cli.framework.command_context import CommandContext
    from kafkabal.config import ProfilesFile, Settings
    from kafkabal.errors import KafkabalError

T = TypeVar("T")

_WILDCARDS: Final = frozenset("*?[")
# settings that name a cluster, and would make all profiles refer to the same one
_NAMING: Final = ("bootstrap_servers", "bootstrap_controllers", "command_config", "zookeeper", "snapshot")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenClusters:
    """One cluster, or several by profile name."""

    one: Settings | None = None
    """None if several are named."""
    profiles: tuple[str, ...] = ()
    flags: Mapping[str, Any]
    """Values from the command line, by key."""
    known: ProfilesFile | None = None
    """The user's profiles file, read once for all clusters."""
    common: Settings | None = None
    """Of several clusters: what the command line and the environment say about all of them."""

    def settings_of(self, profile: str, context: CommandContext) -> Settings:
        """The settings of one of several profiles.

        Raises
        ------
        UsageError
            If a value is wrong, naming its origin.
        """
        from dataclasses import replace

        context = replace(context, environ=_environ_of_all(context))
        return command_settings({**self.flags, "profile": profile}, context, self.known)


def choose_clusters(flags: Mapping[str, Any], context: CommandContext) -> ChosenClusters:
    """The clusters named by ``--profile`` (repeated, or a pattern), ``--all-profiles`` or other settings.

    Raises
    ------
    UsageError
        If a pattern matches nothing, several profiles are combined with a setting that names one cluster, or a value is
        wrong.
    """
    from dataclasses import replace

    from kafkabal.config import PROFILE_VARIABLE, read_profiles, resolve

    profiles_file = context.config_dir / PROFILES_FILE
    given = tuple(flags.get("profiles") or ())
    rest = {key: value for key, value in flags.items() if key not in ("profiles", "all_profiles")}
    if flags.get("all_profiles"):
        if given:
            raise UsageError("--all-profiles and --profile cannot be combined")
        known = read_profiles(profiles_file)
        names = all_profile_names(known)
    else:
        pattern = context.environ.get(PROFILE_VARIABLE, "")
        if not given and _is_pattern(pattern):
            given = (pattern,)
        if len(given) < 2 and not any(map(_is_pattern, given)):
            return ChosenClusters(
                one=command_settings({**rest, "profile": given[0] if given else None}, context), flags=rest
            )
        known = read_profiles(profiles_file)
        names = matching_profile_names(given, known)
    named = next((key for key in _NAMING if rest.get(key)), None)
    if named is not None:
        flag = "--bootstrap-server" if named == "bootstrap_servers" else f"--{named.replace('_', '-')}"
        raise UsageError(f"{flag} cannot be combined with several profiles", hint="each profile names its cluster")
    ignored = [name for name in _naming_variables() if name in context.environ]
    if ignored:
        context.warn(f"{', '.join(ignored)} ignored: each profile names its cluster")
    # a wrong value is a mistake of the command line, and not what is wrong with each cluster
    environ = {name: text for name, text in _environ_of_all(context).items() if name != PROFILE_VARIABLE}
    common = resolve(rest, environ=environ, profiles_file=replace(known, profiles={}, use=None))
    return ChosenClusters(profiles=names, flags=rest, known=known, common=common)


def run_on_each(names: Sequence[str], task: Callable[[str], T], limit_s: float) -> dict[str, T | KafkabalError]:
    """Run a task for all names in parallel; one that is not done in time counts as no response."""
    from functools import partial

    from kafkabal.clusters import Deadline, SystemClock, run_all

    # tasks do not end themselves at this limit, so a grace would only make it longer
    return run_all({name: partial(task, name) for name in names}, Deadline(limit_s, SystemClock()), grace_s=0.0)


def all_profile_names(known: ProfilesFile) -> tuple[str, ...]:
    """Names of all profiles, sorted.

    Raises
    ------
    ConfigError
        If there are none.
    """
    if not known.profiles:
        raise ConfigError(f"no profiles: {known.path}", hint="add one: kafkabal profiles add NAME -b HOST:PORT")
    return tuple(sorted(known.profiles))


def matching_profile_names(given: Sequence[str], known: ProfilesFile) -> tuple[str, ...]:
    """All known profile names that match, without duplicates, in the given order; paths of other files stay unchanged.

    Raises
    ------
    UsageError
        If a name is unknown, or a pattern matches none.
    """
    found: dict[str, None] = {}
    every = sorted(known.profiles)
    for text in given:
        if not text.strip():
            raise UsageError("--profile: empty value", hint="leave it out, or see whether a variable in it is set")
        if _is_file(text):
            found[text] = None
            continue
        names = [name for name in every if fnmatchcase(name, text)] if _is_pattern(text) else [text]
        if not names or (not _is_pattern(text) and text not in known.profiles):
            raise UsageError(
                f"--profile: {'no profile matches' if _is_pattern(text) else 'unknown profile:'} {text!r}",
                hint=f"choose from: {first_of(every)}" if every else f"{known.path} has none",
            )
        found |= dict.fromkeys(names)
    return tuple(found)


def _is_file(text: str) -> bool:
    return "/" in text or text.partition("#")[0].endswith((".yaml", ".yml"))


def _is_pattern(text: str) -> bool:
    return not _is_file(text) and not _WILDCARDS.isdisjoint(text)


def _environ_of_all(context: CommandContext) -> dict[str, str]:
    """The environment without the variables that name one cluster."""
    naming = _naming_variables()
    return {name: text for name, text in context.environ.items() if name not in naming}


def _naming_variables() -> tuple[str, ...]:
    from kafkabal.config import KEYS

    return tuple(key.variable for key in KEYS if key.name in _NAMING)
