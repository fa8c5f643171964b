"""The generated files, and whether those on disk are up to date."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kafkabal.atomic_files import replacing
from kafkabal.cli.framework.completion import bash, fish, zsh
from kafkabal.cli.framework.completion.command_pages import pages
from kafkabal.reporting.monitoring.monitoring_files import MonitoringSetup, monitoring_files
from tools.reference import environment_variable_names, json_schemas, man_pages, markdown_pages

_FOLDERS = ("completions", "docs/schemas", "man")


def generated_files() -> Mapping[str, str]:
    """Texts by path within the repository."""
    found = pages()
    return {
        "completions/kafkabal.bash": bash.script(found),
        "completions/_kafkabal": zsh.script(found),
        "completions/kafkabal.fish": fish.script(found),
        "docs/commands.md": markdown_pages.commands(found),
        "docs/exit-codes.md": markdown_pages.exit_codes(),
        "docs/policies.md": markdown_pages.policies(),
        "docs/scores.md": markdown_pages.scores(),
        **{f"monitoring/{name}": text for name, text in monitoring_files(MonitoringSetup()).items()},
        "kafkabal/cli/framework/environment_variables.txt": environment_variable_names.listed(found),
        **{f"docs/schemas/{name}": text for name, text in json_schemas.schemas().items()},
        **{f"man/{man_pages.file_name(page)}": man_pages.man_page(page, found) for page in found},
    }


def write_all(files: Mapping[str, str], root: Path) -> None:
    """Write the files, and remove those generated for removed commands."""
    for path in _obsolete(files, root):
        (root / path).unlink()
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        with replacing(root / name) as file:
            file.write(text.encode())


def outdated(files: Mapping[str, str], root: Path) -> list[str]:
    """Paths whose content differs, is missing, or should not exist."""
    changed = [n for n, text in files.items() if not (root / n).is_file() or (root / n).read_text() != text]
    return sorted([*changed, *_obsolete(files, root)])


def _obsolete(files: Mapping[str, str], root: Path) -> list[str]:
    there = [path for folder in _FOLDERS for path in (root / folder).glob("*")]
    return [name for path in there if (name := str(path.relative_to(root))) not in files]
