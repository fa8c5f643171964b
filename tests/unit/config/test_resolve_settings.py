"""Which value applies, and its origin."""

import os
from pathlib import Path
from typing import Any

import pytest

from kafkabal.config.resolve_settings import resolve
from kafkabal.config.settings import KEYS, Settings
from kafkabal.errors import ExitCode, UsageError

PROFILES = """\
profiles:
  default:
    bootstrap_servers: home:9092
  prod:
    bootstrap_servers: [a:9092, b:9092]
    command_config: client.properties
    tolerance: 5%
    scores:
      disk: 3
      mypkg.scores:Gpu:
    capacity:
      default: 4TiB
      7: {/d0: 2TiB}
    volumes:
      default: {/d0: v, /d1: v}
    exclude_topics: [__*, tmp-*]
    include_internal: yes
    throttle: auto
  saved:
    snapshot: s.jsonl
"""


@pytest.fixture
def profiles(tmp_path: Path) -> Path:
    """The user's own profiles."""
    path = tmp_path / "profiles.yaml"
    path.write_text(PROFILES)
    return path


def settle(profiles: Path, flags: dict[str, Any] | None = None, **environ: str) -> Settings:
    """Resolve these flags and variables."""
    return resolve(flags or {}, environ=environ, profiles_file=profiles)


def test_without_settings_defaults_apply(tmp_path: Path) -> None:
    """Without a file, a variable or a flag every field has its default and says so."""
    settings = settle(tmp_path / "none.yaml")
    assert settings == Settings()
    assert settings.origin("tolerance") == "default"


def test_a_profile_is_read_with_the_meaning_of_every_value(profiles: Path) -> None:
    """Quantities, lists, mappings by broker and by dir; a path is relative to the profile's file."""
    settings = settle(profiles, {"profile": "prod"})
    assert settings.bootstrap_servers == ("a:9092", "b:9092")
    assert settings.command_config == profiles.parent / "client.properties"
    assert settings.tolerance == 0.05
    assert settings.scores == ("disk=3", "mypkg.scores:Gpu")
    assert settings.capacity == {"default": 4 * 2**40, 7: {"/d0": 2 * 2**40}}
    assert settings.volumes == {"default": {"/d0": "v", "/d1": "v"}}
    assert settings.exclude_topics == ("__*", "tmp-*")
    assert settings.include_internal is True
    assert settings.throttle == "auto"
    assert settings.profile is not None
    assert (settings.profile.name, settings.profile.path) == ("prod", profiles)


def test_a_path_in_a_profile_from_a_pipe_is_relative_to_the_current_folder(tmp_path: Path) -> None:
    """``--profile <(command)`` of a shell is a pipe in /dev/fd, where no other file can be."""
    source, target = os.pipe()
    os.write(target, b"snapshot: cluster.jsonl\n")
    os.close(target)
    try:
        assert settle(tmp_path / "none.yaml", {"profile": f"/dev/fd/{source}"}).snapshot == Path("cluster.jsonl")
    finally:
        os.close(source)


@pytest.mark.parametrize(
    ("flags", "environ", "value", "origin"),
    [
        ({"profile": "prod"}, {}, 0.05, "profiles.yaml, line 7"),
        ({"profile": "prod"}, {"KAFKABAL_TOLERANCE": "6%"}, 0.06, "KAFKABAL_TOLERANCE"),
        ({"profile": "prod", "tolerance": "7%"}, {"KAFKABAL_TOLERANCE": "6%"}, 0.07, "--tolerance"),
        ({"profile": "prod", "tolerance": None}, {}, 0.05, "profiles.yaml, line 7"),
        ({}, {"KAFKABAL_PROFILE": "prod"}, 0.05, "profiles.yaml, line 7"),
        ({"profile": "saved"}, {"KAFKABAL_PROFILE": "prod"}, None, "default"),
    ],
)
def test_flags_come_before_environment_before_profile(
    profiles: Path, flags: dict[str, Any], environ: dict[str, str], value: float | None, origin: str
) -> None:
    """The strongest origin wins, and is remembered."""
    settings = settle(profiles, flags, **environ)
    assert settings.tolerance == value
    assert settings.origin("tolerance").endswith(origin)


def test_the_profile_called_default_holds_where_none_is_chosen(profiles: Path) -> None:
    """Without a selected profile, the settings are those of the profile ``default``."""
    assert settle(profiles).bootstrap_servers == ("home:9092",)


def test_lists_and_switches_come_as_flags(profiles: Path) -> None:
    """A repeated flag is a list, and so is one with commas; a switch is true."""
    settings = settle(
        profiles,
        {"exclude_topics": ["a*", "b*,c*"], "exclude_brokers": ["3", "1,3"], "include_internal": True, "topics": []},
    )
    assert settings.exclude_topics == ("a*", "b*", "c*")
    assert settings.exclude_brokers == (1, 3)
    assert settings.include_internal is True
    assert settings.topics == ()


@pytest.mark.parametrize(
    ("flags", "environ", "kept"),
    [
        ({"snapshot": "x"}, {}, "snapshot"),
        ({"profile": "saved", "bootstrap_servers": ["x:1"]}, {}, "bootstrap_servers"),
        ({"profile": "saved"}, {"KAFKABAL_ZOOKEEPER": "z:1"}, "zookeeper"),
        ({"snapshot": "x"}, {"KAFKABAL_BOOTSTRAP_SERVER": "x:1"}, "snapshot"),
    ],
)
def test_a_stronger_source_names_another_cluster(
    profiles: Path, flags: dict[str, Any], environ: dict[str, str], kept: str
) -> None:
    """A snapshot on the command line is not mixed with the profile's brokers, nor the other way round."""
    settings = settle(profiles, flags, **environ)
    named = [f for f in ("bootstrap_servers", "zookeeper", "snapshot") if getattr(settings, f)]
    assert named == [kept]


def test_one_source_cannot_name_two_clusters(profiles: Path) -> None:
    """A snapshot together with a bootstrap server is a contradiction."""
    with pytest.raises(
        UsageError, match=r"both a snapshot \(--snapshot\) and a live cluster \(--bootstrap-server\) given"
    ):
        settle(profiles, {"snapshot": "x", "bootstrap_servers": ["x:1"]})


@pytest.mark.parametrize(
    ("flags", "environ", "message"),
    [
        ({"tolerance": "10"}, {}, "--tolerance: ambiguous percentage: '10' (10% or 0.10"),
        ({}, {"KAFKABAL_TOLERANCE": "x"}, "KAFKABAL_TOLERANCE: invalid percentage: 'x'"),
        ({}, {"KAFKABAL_MAX_MOVES": "-1"}, "KAFKABAL_MAX_MOVES: must be at least 0: '-1'"),
        ({"exclude_brokers": ["a"]}, {}, "--exclude-brokers: invalid broker id: 'a'"),
        ({"count_capacity": "disks"}, {}, "--count-capacity: unknown value: 'disks'"),
        ({"throttle": "fast"}, {}, "--throttle: invalid rate: 'fast'"),
        ({"window": "25:00-26:00"}, {}, "--window: invalid time window: '25:00-26:00'"),
        ({}, {"KAFKABAL_BROKER_TIMEOUT": "0s"}, "KAFKABAL_BROKER_TIMEOUT: duration must be above 0: '0s'"),
        ({"max_duration": "5"}, {}, "--max-duration: invalid duration: '5'"),
        ({}, {"KAFKABAL_INCLUDE_INTERNAL": "maybe"}, "expected true or false, got 'maybe'"),
        ({"capacity": "0"}, {}, "--capacity: capacity must be above 0 bytes"),
    ],
)
def test_a_wrong_value_is_named_by_where_it_was_written(
    tmp_path: Path, flags: dict[str, Any], environ: dict[str, str], message: str
) -> None:
    """A flag by its name, a variable by its name; the exit code is that of a usage error."""
    with pytest.raises(UsageError) as error:
        settle(tmp_path / "none.yaml", flags, **environ)
    assert message in error.value.message
    assert error.value.exit_code is ExitCode.USAGE


def test_a_capacity_in_a_variable_is_the_default_of_all_brokers(tmp_path: Path) -> None:
    """If no mapping can be written, a single value applies to every broker."""
    assert settle(tmp_path / "none.yaml", KAFKABAL_CAPACITY="4TiB").capacity == {"default": 2**42}


def test_keys_options_and_variables_agree() -> None:
    """Each field has one key, one option and one variable, and none is used twice."""
    assert [k.variable for k in KEYS if k.name == "bootstrap_servers"] == ["KAFKABAL_BOOTSTRAP_SERVER"]
    for values in ([k.name for k in KEYS], [k.option for k in KEYS], [k.field for k in KEYS]):
        assert len(set(values)) == len(KEYS)
    assert {k.field for k in KEYS} | {"profile", "places"} == set(Settings.__dataclass_fields__)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("tolerance: 5%\ntolerance: 6%\n", 2, "duplicate key: 'tolerance'"),
        ("a: [1\nb: 2\n", 2, "invalid YAML"),
        ("a: b: c\n", 1, "invalid YAML"),
        ("x: 1\n---\ny: 2\n", 2, "invalid YAML: more than one document"),
        ("tolerance: \x01\n", 1, "invalid YAML"),
        ("tolerence: 5%\n", 1, "unknown key in a profile: 'tolerence'"),
        ("\nprofiles:\n  p:\n    capcity: 1\n", 4, "unknown key in profile 'p': 'capcity'"),
        ("profiles: {p: {}}\ntolerance: 5%\n", 2, "setting outside 'profiles'"),
        ("profiles: [p]\n", 1, "expected a mapping"),
        ("- a\n", 1, "expected a mapping"),
        ("profiles: {p: 5}\n", 1, "expected a mapping"),
        ("tolerance: 10\n", 1, "ambiguous percentage: '10'"),
        ("scores: [disk]\ntolerance: [1]\n", 2, "expected a single value"),
        ("capacity:\n  x: 4TiB\n", 2, "invalid broker id: 'x'"),
        ("capacity:\n  1: {d0: 4TiB}\n", 2, "not an absolute path of a log dir: 'd0'"),
        ("capacity: {1: 4 Tera}\n", 1, "invalid size: '4 Tera'"),
        ("volumes: {1: x}\n", 1, "expected a mapping of log dirs"),
        ("exclude_topics: {a: b}\n", 1, "expected a list"),
        ("topics: &x [*x]\n", 1, "contains itself"),
        ("? [a]\n: b\n", 1, "a key must be plain text"),
    ],
)
def test_a_wrong_profile_is_named_by_its_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    """Malformed YAML, unknown keys and wrong values: file, line and reason in one line of text."""
    path = tmp_path / "p.yaml"
    path.write_text(text)
    with pytest.raises(UsageError) as error:
        settle(tmp_path / "none.yaml", {"profile": str(path)})
    assert error.value.message.startswith(f"{path}, line {line}: ")
    assert message in error.value.message
    assert "\n" not in error.value.message


def test_near_keys_are_offered(tmp_path: Path) -> None:
    """A misspelt key suggests the right one."""
    path = tmp_path / "p.yaml"
    path.write_text("tolerence: 5%\n")
    with pytest.raises(UsageError) as error:
        settle(path, {"profile": str(path)})
    assert error.value.hint == "did you mean: tolerance"


@pytest.mark.parametrize(
    ("chosen", "message", "hint"),
    [
        ("prd", "unknown profile: 'prd'", "did you mean: prod"),
        ("{dir}/profiles.yaml#nope", "unknown profile: 'nope'", "choose from: default, prod, saved"),
        ("{dir}/none.yaml", "cannot read: No such file", ""),
        ("{dir}/several.yaml", "contains 2 profiles", "several.yaml#a"),
        ("{dir}/latin.yaml", "not UTF-8 text", ""),
    ],
)
def test_an_unknown_profile_is_refused(profiles: Path, chosen: str, message: str, hint: str) -> None:
    """The profiles with similar names are offered as a guess, or else all are listed."""
    (profiles.parent / "several.yaml").write_text("profiles: {a: {}, b: {}}")
    (profiles.parent / "latin.yaml").write_bytes(b"topics: caf\xe9")
    with pytest.raises(UsageError, match=message) as error:
        settle(profiles, {"profile": chosen.format(dir=profiles.parent)})
    assert hint in (error.value.hint or "")


def test_a_file_of_profiles_in_a_folder_of_another_user_is_named(tmp_path: Path) -> None:
    """Where HOME is not the user's own, the file may not even be looked up: settings in it must not be ignored."""
    with pytest.raises(UsageError, match=r"profiles\.yaml: cannot read") as caught:
        resolve({}, environ={}, profiles_file=tmp_path / ("a" * 256) / "profiles.yaml")
    assert caught.value.hint == "set HOME or XDG_CONFIG_HOME to a folder of this user"


def test_a_name_without_a_file_is_refused(tmp_path: Path) -> None:
    """If there is no profiles file, its path is named."""
    with pytest.raises(UsageError, match=r"unknown profile: 'prod' \(.*none\.yaml does not exist\)"):
        settle(tmp_path / "none.yaml", {"profile": "prod"})


@pytest.mark.parametrize(
    ("text", "chosen", "tolerance"),
    [
        ("tolerance: 5%", "{file}", 0.05),
        ("profiles: {only: {tolerance: 5%}}", "{file}", 0.05),
        ("profiles: {a: {tolerance: 5%}, b: {tolerance: 6%}}", "{file}#b", 0.06),
        ("profiles: {default: {tolerance: 5%}, b: {}}", "{file}", 0.05),
        ("# nothing", "{file}", None),
        ("tolerance:\n", "{file}", None),
    ],
    ids=["settings alone", "one profile", "by name", "the one called default", "empty file", "empty value"],
)
def test_a_profile_in_a_file_of_its_own(tmp_path: Path, text: str, chosen: str, tolerance: float | None) -> None:
    """A file may hold the settings of one profile, or several of which one is picked."""
    path = tmp_path / "own.yaml"
    path.write_text(text)
    if text == "# nothing":
        with pytest.raises(UsageError, match="contains no profile"):
            settle(tmp_path / "none.yaml", {"profile": chosen.format(file=path)})
    else:
        assert settle(tmp_path / "none.yaml", {"profile": chosen.format(file=path)}).tolerance == tolerance


@pytest.mark.parametrize(
    ("flags", "environ", "place"),
    [
        ({"topics": [""]}, {}, "--topics"),
        ({"topics": ["a", " "]}, {}, "--topics"),
        ({"exclude_brokers": ""}, {}, "--exclude-brokers"),
        ({"scores": [""]}, {}, "--score"),
        ({"snapshot": ""}, {}, "--snapshot"),
        ({"profile": ""}, {}, "--profile"),
        ({}, {"KAFKABAL_TOPICS": ""}, "KAFKABAL_TOPICS"),
        ({}, {"KAFKABAL_PROFILE": " "}, "KAFKABAL_PROFILE"),
        ({"profile": "empty.yaml#text"}, {}, "line 2"),
        ({"profile": "empty.yaml#list"}, {}, "line 3"),
        ({"profile": "empty.yaml#entry"}, {}, "line 4"),
    ],
)
def test_an_empty_value_is_refused(
    profiles: Path, tmp_path: Path, flags: dict[str, Any], environ: dict[str, str], place: str
) -> None:
    """Treating an empty value as not given would widen the scope; it is often an unset shell variable."""
    file = tmp_path / "empty.yaml"
    file.write_text("profiles:\n  text: {topics: ''}\n  list: {exclude_topics: []}\n  entry: {topics: [a, '']}\n")
    if str(flags.get("profile", "")).startswith(file.name):
        flags = {"profile": f"{tmp_path}/{flags['profile']}"}
    with pytest.raises(UsageError, match="empty value") as error:
        resolve(flags, environ=environ, profiles_file=profiles)
    assert place in error.value.message


@pytest.mark.parametrize("text", ["a,,b", ",", "a,"])
def test_an_empty_entry_of_a_list_is_refused(profiles: Path, text: str) -> None:
    """It is often an unset variable too."""
    with pytest.raises(UsageError, match="--exclude-topics: empty entry in a list"):
        resolve({"exclude_topics": text}, environ={}, profiles_file=profiles)


@pytest.mark.parametrize(
    ("key", "value"), [("throttle", "0"), ("throttle", "0MB"), ("log_dir_throttle", "0"), ("nic_rate", "0")]
)
def test_a_rate_of_zero_is_refused(profiles: Path, key: str, value: str) -> None:
    """It means neither an automatic rate nor no throttle."""
    with pytest.raises(UsageError, match="rate must be above 0"):
        resolve({key: value}, environ={}, profiles_file=profiles)


@pytest.mark.parametrize("value", ["x" * 300, "x/" * 3000, "a\0b"])
def test_a_path_that_no_file_can_have_is_refused(profiles: Path, value: str) -> None:
    """One line names the option, before anything is opened."""
    with pytest.raises(UsageError, match=r"--snapshot: (path too long|a path cannot contain a NUL byte)"):
        resolve({"snapshot": value}, environ={}, profiles_file=profiles)


@pytest.mark.parametrize("key", ["command_config", "bootstrap_controllers"])
def test_settings_without_effect_on_a_snapshot_are_refused(profiles: Path, key: str) -> None:
    """It must not seem to have been used."""
    with pytest.raises(UsageError, match="has no effect: --snapshot names a snapshot"):
        resolve({"snapshot": "s.jsonl", key: "5s"}, environ={}, profiles_file=profiles)
