"""The examples and tables of ``docs/formats.md`` are correct."""

import json
import re
from pathlib import Path

from kafkabal.cli.framework.shared_options import SETTINGS
from kafkabal.clusters.snapshot.snapshot_reader import read_snapshot
from kafkabal.config.profiles import load_profile
from kafkabal.config.resolve_settings import resolve
from kafkabal.config.settings import KEYS
from kafkabal.config.topic_specs import PRESETS
from kafkabal.config.topics_file import read_topics
from kafkabal.model.cluster_rows import BrokerRow, HeaderRow, LogDirRow, PartitionRow, TopicRow
from kafkabal.plan.plan_file import read_plan

TEXT = (Path(__file__).parents[2] / "docs" / "formats.md").read_text()


def example(language: str, number: int, path: Path) -> Path:
    """One of the examples, written to a file."""
    path.write_text(re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)[number])
    return path


def section(title: str) -> str:
    """The text of a chapter."""
    return re.split(r"\n## ", TEXT)[[part.split("\n")[0] for part in re.split(r"\n## ", TEXT)].index(title)]


def test_the_example_of_a_snapshot_can_be_read(tmp_path: Path) -> None:
    """Broker 1 is live; brokers that are only referenced are dead."""
    state = read_snapshot(example("json", 0, tmp_path / "s.jsonl"))
    assert state.brokers.is_live.tolist() == [True, False, False]


def test_every_key_of_a_snapshot_is_described() -> None:
    """The text mentions every field of a row."""
    text = section("Snapshot")
    for row in (HeaderRow, BrokerRow, LogDirRow, TopicRow, PartitionRow):
        for key in row.__struct_fields__:
            assert f"`{key}`" in text, key


def test_the_example_of_a_plan_is_a_plan(tmp_path: Path) -> None:
    """A copy of it can be shown: its id matches its content."""
    path = example("json", 1, tmp_path / "p.json")
    content = json.loads(path.read_text())
    plan = read_plan(path)
    assert (plan.cluster_id, plan.moved_bytes) == ("Mk", content["kafkabal"]["moved_bytes"])


def test_the_example_of_a_file_of_topics_can_be_read(tmp_path: Path) -> None:
    """Including the preset described below it."""
    images, labels = read_topics(example("yaml", 0, tmp_path / "topics.yaml"))
    assert (images.partitions, labels.replication_factor) == (20, 3)
    training = PRESETS["training"]
    assert f"{training.partitions} partitions" in section("Topics")
    for key, value in training.configs.items():
        assert re.search(rf"`{re.escape(key)}` {value}\b", section("Topics")), key


def test_the_example_of_a_profile_can_be_read(tmp_path: Path) -> None:
    """All its values are valid."""
    path = example("yaml", 1, tmp_path / "profiles.yaml")
    assert load_profile("prod", path) is not None
    assert resolve({"profile": "prod"}, environ={}, profiles_file=path).tolerance == 0.05


def test_every_setting_is_in_the_table_with_its_option() -> None:
    """The table has no others; a setting without a command-line option is described as profile-only."""
    shown = re.findall(r"^\| `(\w+)` \| (?:`(--[\w-]+)`[^|]*|profile only) \|", section("Profile"), re.MULTILINE)
    assert shown == [(key.name, key.option if key.name in SETTINGS else "") for key in KEYS]
