"""The error tree and its exit codes."""

import inspect
import pickle
import re
import traceback
from collections.abc import Callable

import pytest

from kafkabal import errors
from kafkabal.errors import (
    EXIT_CODE_MEANINGS,
    ExitCode,
    InputFileError,
    InterruptedRunError,
    KafkabalError,
    unknown_topic,
)
from kafkabal.reader.decoders import load_decoder
from kafkabal.routing.registry import load_policy
from kafkabal.scoring.registry import load_score
from kafkabal.sources.transform import load_transform

CLASSES = sorted(
    (c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, KafkabalError)), key=lambda c: c.__name__
)


def test_the_drawn_tree_is_the_real_one() -> None:
    """Every error is in the docstring below its parent, with its exit code."""
    drawn: dict[str, tuple[str, str]] = {}
    path: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        entry = re.match(r"    (?P<indent>[│├└─ ]*)(?P<name>\w+)\s+(?P<codes>[\d/]+)", line)
        if entry:
            path[len(entry["indent"]) // 4 :] = [entry["name"]]
            drawn[entry["name"]] = (path[-2] if len(path) > 1 else "Exception", entry["codes"])
    real = {c.__name__: (c.__base__.__name__, str(int(c.exit_code))) for c in CLASSES}
    real["InterruptedRunError"] = ("KafkabalError", "130/143")
    assert drawn == real


def test_every_exit_code_has_a_meaning() -> None:
    """The table for the documentation lists every exit code."""
    assert list(EXIT_CODE_MEANINGS) == list(ExitCode)


@pytest.mark.parametrize(("line", "text"), [(None, "f: bad"), (3, "f, line 3: bad")])
def test_a_bad_file_is_named_with_its_line(line: int | None, text: str) -> None:
    """The error names the line if there is one."""
    error = InputFileError("f", "bad", line=line, hint="mend it")
    assert (error.message, error.hint, error.line) == (text, "mend it", line)


@pytest.mark.parametrize(("terminated", "code"), [(False, 130), (True, 143)])
def test_an_interruption_exits_with_the_code_of_its_signal(terminated: bool, code: int) -> None:
    """SIGINT and SIGTERM have exit codes of their own."""
    assert InterruptedRunError("stopped", terminated=terminated).exit_code == code


@pytest.mark.parametrize("kind", CLASSES)
def test_every_error_survives_the_way_from_a_worker_process(kind: type[KafkabalError]) -> None:
    """With its message, its hint and everything else, whatever its class takes to be created."""
    named = [p for p in inspect.signature(kind).parameters.values() if p.kind is not p.KEYWORD_ONLY]
    error = kind(*["text" for p in named if p.default is p.empty])
    error.add_note("hint: mend it")
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), vars(copy)) == (kind, str(error), vars(error))
    assert copy.exit_code == error.exit_code


def test_a_program_that_does_not_catch_an_error_shows_its_hint() -> None:
    """Python prints the notes of an error below its message."""
    shown = "".join(traceback.format_exception(KafkabalError("no cluster given", hint="give one")))
    assert shown.endswith("KafkabalError: no cluster given\nhint: give one\n")


@pytest.mark.parametrize(
    "load",
    [load_score, load_policy, load_decoder, load_transform],
    ids=["score", "policy", "decoder", "transform"],
)
def test_a_missing_module_error_says_where_to_put_it(load: Callable[[str], object]) -> None:
    """The hint says that an installed program does not find modules in the working folder."""
    with pytest.raises(KafkabalError) as refused:
        load("no_such_module_here:Thing")
    assert "PYTHONPATH" in (refused.value.hint or "")


@pytest.mark.parametrize(
    ("topic", "can_be_created"), [("my-topic.1_x", True), ("a b", False), ("é", False), ("", False)]
)
def test_only_a_topic_that_kafka_allows_is_proposed_to_be_created(topic: str, *, can_be_created: bool) -> None:
    """A hint is a command that works when it is typed."""
    assert (f"'kafkabal create {topic} -p 12 -r 3'" in str(unknown_topic(topic).hint)) is can_be_created


def test_standard_input_is_named_in_words() -> None:
    """Also in a document whose reader knows only the name, such as YAML: '-, line 1' would be a riddle."""
    assert str(InputFileError("-", "is empty", line=1)) == "standard input, line 1: is empty"
