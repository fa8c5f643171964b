"""What the README tells people to type exists, and its profile is one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kafkabal.cli.framework.completion.command_pages import pages
from kafkabal.config.profiles import load_profile

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
FLAGS = {page.title: {flag for option in page.options for flag in option.flags} for page in pages()}
CODE = "\n".join(re.findall(r"```sh\n.*?```|`[^`\n]+`", README, re.DOTALL))
SHOWN = sorted(set(re.findall(r"\bkafkabal [a-z][^`#\n)]*", CODE)))


@pytest.mark.parametrize("line", SHOWN)
def test_every_command_line_exists(line: str) -> None:
    """Commands are in the table, and each flag is one of the command."""
    words = line.split()[1:]
    title = "kafkabal"
    while words and f"{title} {words[0]}" in FLAGS:
        title += f" {words.pop(0)}"

    assert title != "kafkabal", line
    assert {word for word in words if word.startswith("-")} <= FLAGS[title], line


def test_the_commands_are_found() -> None:
    """The pattern still matches what the README shows."""
    assert len(SHOWN) >= 15


def test_the_profile_can_be_read(tmp_path: Path) -> None:
    """The YAML block is a valid file of profiles."""
    block = re.search(r"```yaml\n(.*?)```", README, re.DOTALL)
    assert block is not None
    file = tmp_path / "profiles.yaml"
    file.write_text(block[1])
    profile = load_profile("prod", file)

    assert profile is not None
    assert set(profile.settings) == {"bootstrap_servers", "command_config", "tolerance", "throttle"}


def test_links_lead_somewhere() -> None:
    """Every file that is linked exists, but for the picture, which is made by the demo."""
    links = set(re.findall(r"\]\(((?!http)[^)]+)\)", README)) - {"docs/demo.svg"}

    assert [link for link in sorted(links) if not (ROOT / link).exists()] == []
