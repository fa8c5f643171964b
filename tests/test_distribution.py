"""The content of the sdist and the wheel, built as for a release."""

from __future__ import annotations

import email
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

import hatch_build

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The sdist, and the wheel built from it."""
    folder = tmp_path_factory.mktemp("dist")
    words = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return sdist, wheel


def test_the_wheel_holds_what_users_need(built: tuple[Path, Path]) -> None:
    """Types, data files, documentation, completions and man pages are included; tests, tools and caches are not."""
    names = set(zipfile.ZipFile(built[1]).namelist())
    needed = {
        "kafkabal/py.typed",
        "kafkabal/cli/framework/environment_variables.txt",
        "kafkabal/simulator/workloads/images.yaml",
        "kafkabal/documentation/exit-codes.md",
        "kafkabal/documentation/schemas/inspect.schema.json",
    }
    shared = {name.partition(".data/data/")[2] for name in names}

    assert needed <= names
    assert any(name.endswith(".lock") for name in names)
    assert {
        "share/bash-completion/completions/kafkabal",
        "share/zsh/site-functions/_kafkabal",
        "share/fish/vendor_completions.d/kafkabal.fish",
        "share/man/man1/kafkabal.1",
    } <= shared
    packages = {name.split("/")[0] for name in names}
    assert {re.sub(r"-.*", "", package) for package in packages} == {"kafkabal"}
    assert not [name for name in names if "__pycache__" in name or name.endswith(".pyc")]


def test_the_wheel_holds_the_c_libraries_where_they_can_be_compiled(built: tuple[Path, Path]) -> None:
    """It is then for any Python 3 on this platform; without a C compiler it is for any platform."""
    libraries = {"kafkabal/producer/kafkabal_routing.so", "kafkabal/clusters/kafka/kafkabal_records.so"}
    names = set(zipfile.ZipFile(built[1]).namelist())
    has_compiler = sys.platform == "linux" and (shutil.which("gcc") or shutil.which("cc"))
    platform = sysconfig.get_platform().replace("-", "_") if has_compiler else "any"

    assert names & libraries == (libraries if has_compiler else set())
    assert built[1].name.endswith(f"-py3-none-{platform}.whl")


def test_a_build_without_a_compiler_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The package is built without the C libraries; on other systems than Linux it always is."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sysconfig.get_config_var", lambda _: "gcc -pthread")
    monkeypatch.setattr(sys, "platform", "linux")
    assert hatch_build.compile_libraries(ROOT) == "no C compiler: cc"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert hatch_build.compile_libraries(tmp_path) == "the C libraries are for Linux"


def test_the_wheel_has_complete_metadata(built: tuple[Path, Path]) -> None:
    """Author, licence and description are there, and no link in the description is broken on a package index."""
    wheel = zipfile.ZipFile(built[1])
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    metadata = email.message_from_bytes(wheel.read(name))
    text = str(metadata.get_payload())

    assert metadata["Author"] == "The kafkabal maintainers"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert "Typing :: Typed" in metadata.get_all("Classifier", [])
    assert text.startswith("# kafkabal")
    assert not [link for link in re.findall(r"\]\(([^)]+)\)", text) if not link.startswith("https://")]


def test_the_sdist_can_be_tested(built: tuple[Path, Path]) -> None:
    """Packagers find tests, documentation, licence and the pinned versions."""
    with tarfile.open(built[0]) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}

    assert {"LICENSE", "README.md", "SECURITY.md", "CHANGELOG.md", "constraints.txt", "tests/conftest.py"} <= names
    assert not [name for name in names if name.startswith((".git/", ".venv", "kafkabal/documentation"))]
