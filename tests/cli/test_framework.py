"""The framework of all commands: lookup, options, errors, exit codes and streams; tested without our own commands."""

import errno
import io
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer

from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.command_table import COMMANDS, Row
from kafkabal.cli.framework.error_boundary import exit_code_of
from kafkabal.cli.framework.shared_options import CLUSTER, Format, Forms, OutputOptions, Uses
from kafkabal.cli.framework.show_report import show_report
from kafkabal.cli.framework.typer_parameters import read_signature
from kafkabal.cli.main import root_command
from kafkabal.config.settings import Settings
from kafkabal.errors import (
    BusyError,
    DriftError,
    ExitCode,
    FindingsError,
    InterruptedRunError,
    NotAuthorizedError,
    PartialFailureError,
    UnreachableError,
    UsageError,
)
from kafkabal.reporting.report import Column, Report, Table
from kafkabal.units import parse_bytes, parse_percent

SEEN: dict[str, Any] = {}


def probe(
    context: CommandContext,
    settings: Annotated[Settings, Uses(*CLUSTER, "scores", "tolerance", "include_internal")],
    output: Annotated[OutputOptions, Forms("json", "table")],
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME...")] = None,
    share: Annotated[float, typer.Option("--share", metavar="PERCENT", parser=parse_percent)] = 0.5,
    size: Annotated[list[int] | None, typer.Option("--size", metavar="SIZE", parser=parse_bytes)] = None,
    count: Annotated[int, typer.Option("--count")] = 3,
    force: Annotated[bool, typer.Option("--force")] = False,
) -> ExitCode | None:
    """Keep the arguments."""
    SEEN.update(locals())
    return ExitCode.UNSAFE if force else None


def grouped(
    settings: Annotated[Settings, Uses("tolerance")],
    share: Annotated[float, typer.Option("--share", metavar="PERCENT", parser=parse_percent)] = 0.5,
    force: Annotated[bool, typer.Option("--force")] = False,
) -> None:
    """Keep the arguments."""
    SEEN.update(locals())


def failing(context: CommandContext, kind: Annotated[str, typer.Argument()]) -> None:
    """Fail in a given way."""
    if kind == "write":
        context.stdout.write("x")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    raise FAILURES[kind]


def reporting(context: CommandContext, output: OutputOptions) -> None:
    """Show a small report."""
    table = Table(key="rows", columns=(Column(key="name", title="name", values=["a", "b"]),))
    show_report(Report(command="reporting", headline="Two rows.", tables=(table,)), output, context)


def asking(context: CommandContext) -> None:
    """Ask before continuing."""
    context.say("yes" if context.confirm("Go on?", flag="--yes") else "no")


FAILURES: dict[str, BaseException] = {
    "usage": UsageError("bad words", hint="use better ones"),
    "unreachable": UnreachableError("nobody at localhost:1"),
    "refused": NotAuthorizedError("not yours"),
    "partial": PartialFailureError("1 of 2 failed", [("t-0", "TIMED_OUT")]),
    "findings": FindingsError("a plan is pending"),
    "drift": DriftError("t-0 has moved"),
    "busy": BusyError("held by pid 7"),
    "interrupted": InterruptedRunError("3 of 5 done", hint="go on with: kafkabal rebalance resume"),
    "terminated": InterruptedRunError("3 of 5 done", terminated=True),
    "ctrl-c": KeyboardInterrupt(),
    "pipe": BrokenPipeError(),
    "bug": ZeroDivisionError("division by zero"),
}


@pytest.fixture(autouse=True)
def commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands for these tests only."""
    SEEN.clear()
    here = __name__
    sys.modules.setdefault(here, sys.modules[__name__])
    rows = {
        "probe": Row("Remember what it was given.", f"{here}:probe"),
        "failing": Row("Fail in a chosen way.", f"{here}:failing"),
        "reporting": Row("Show a small report.", f"{here}:reporting"),
        "asking": Row("Ask before going on.", f"{here}:asking"),
        "group": Row(
            "Remember what it was given.",
            f"{here}:grouped",
            {"inner": Row("Remember what it was given.", f"{here}:probe")},
        ),
        "bare": Row("A group of commands.", commands={"inner": Row("Ask before going on.", f"{here}:asking")}),
    }
    monkeypatch.setattr(root_command(), "rows", rows)
    monkeypatch.setattr(root_command(), "_built", {})


def test_flags_reach_the_function_in_their_own_types(run_cli: Callable[..., Any]) -> None:
    """Arguments, parsed and repeated options, settings and groups arrive as the signature declares."""
    outcome = run_cli(
        "probe", "a", "b", "--share", "9%", "--size", "1kB", "--size", "2", "--tolerance", "0.05", "-o", "table"
    )

    assert outcome.code == 0, outcome.err
    assert SEEN["names"] == ["a", "b"]
    assert SEEN["share"] == pytest.approx(0.09)
    assert SEEN["size"] == [1000, 2]
    assert SEEN["settings"].tolerance == pytest.approx(0.05)
    assert SEEN["output"] == OutputOptions(output=Format.TABLE)


def test_defaults_hold_without_flags(run_cli: Callable[..., Any]) -> None:
    """Without flags the function gets the signature's defaults, and the first output format of the command."""
    run_cli("probe")

    assert (SEEN["share"], SEEN["size"], SEEN["count"], SEEN["names"]) == (0.5, None, 3, None)
    assert SEEN["output"].output is Format.JSON
    assert SEEN["settings"].tolerance is None


def test_a_process_builds_a_command_once(run_cli: Callable[..., Any]) -> None:
    """A command that is run again is the same object, and keeps nothing of the earlier run."""
    run_cli("probe", "a", "--size", "1kB", "--share", "9%")
    built = root_command().get_command(None, "probe")
    run_cli("probe")

    assert root_command().get_command(None, "probe") is built
    assert (SEEN["names"], SEEN["size"], SEEN["share"]) == (None, None, 0.5)


def test_the_environment_counts_where_no_flag_is_given(run_cli: Callable[..., Any]) -> None:
    """KAFKABAL_<OPTION> sets any option, and a flag overrides it."""
    environ = {"KAFKABAL_COUNT": "7", "KAFKABAL_FORCE": "1", "KAFKABAL_TOLERANCE": "5%", "KAFKABAL_SIZE": "1kB 2kB"}
    outcome = run_cli("probe", "--tolerance", "6%", environ=environ)

    assert outcome.code == ExitCode.UNSAFE
    assert (SEEN["count"], SEEN["size"]) == (7, [1000, 2000])
    assert SEEN["settings"].tolerance == pytest.approx(0.06)


def test_a_misspelt_variable_is_reported(run_cli: Callable[..., Any]) -> None:
    """A misspelt variable causes one line on stderr with the most similar name; known and unrelated ones do not."""
    environ = {"KAFKABAL_TOLERENCE": "5%", "KAFKABAL_BOOTSTRAP_SERVERS": "b:1"}
    passed_over = {"KAFKABAL_TOLERANCE": "5%", "KAFKABAL_WATC": "", "KAFKABAL_SERVICE_HOST": "h", "TOLERENCE": "5%"}
    outcome = run_cli("probe", "-q", environ={**passed_over, **environ})

    assert outcome.code == 0
    assert outcome.err.splitlines() == [
        f"kafkabal: warning: unknown environment variable ignored: KAFKABAL_{name}; did you mean: KAFKABAL_{near}"
        for name, near in (("BOOTSTRAP_SERVERS", "BOOTSTRAP_SERVER"), ("TOLERENCE", "TOLERANCE"))
    ]
    assert run_cli("probe", environ=passed_over).err == ""


def test_a_profile_counts_where_neither_flag_nor_environment_does(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """The user's profiles are found in the config folder."""
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "profiles.yaml").write_text("profiles:\n  prod: {tolerance: 7%, scores: [disk=3]}\n")

    run_cli("probe", "--profile", "prod")

    assert SEEN["settings"].tolerance == pytest.approx(0.07)
    assert SEEN["settings"].scores == ("disk=3",)


@pytest.mark.parametrize(
    ("option", "hint"),
    [
        ("--tolerence", "did you mean: --tolerance"),
        ("--check", "see 'kafkabal probe --help'"),
        ("--name", "an argument, not an option: kafkabal probe NAME..."),
    ],
)
def test_a_misspelt_option_is_named_with_a_guess(run_cli: Callable[..., Any], option: str, hint: str) -> None:
    """Only a similar option is suggested, as '--check' is not taken for '--help', or the argument of that name."""
    refused = run_cli("probe", option)
    assert refused.err == f"kafkabal: error: no such option: {option}\nkafkabal: hint: {hint}\n"


@pytest.mark.parametrize(
    ("words", "environ", "message"),
    [
        (["prob"], {}, "unknown command: kafkabal prob"),
        (["probe", "--nonsense"], {}, "no such option: --nonsense"),
        (["probe", "--count", "x"], {}, "--count: not a whole number: 'x'"),
        (["probe", "--share", "9"], {}, "--share: ambiguous percentage: '9' (9% or 0.09?)"),
        (["probe", "--tolerance", "nan"], {}, "--tolerance: invalid percentage: 'nan'"),
        (["probe", "-o", "csv"], {}, "--output: unknown value: 'csv'"),
        (["probe", "--snapshot", "s", "-b", "h:1"], {}, "both a snapshot (--snapshot)"),
        (["probe"], {"KAFKABAL_COUNT": "x"}, "KAFKABAL_COUNT: "),
        (["probe"], {"KAFKABAL_TOLERANCE": "x"}, "KAFKABAL_TOLERANCE: invalid percentage: 'x'"),
        (["probe"], {"KAFKABAL_FORCE": "maybe"}, "KAFKABAL_FORCE: must be true or false: 'maybe'"),
        (["probe"], {"KAFKABAL_VERBOSE": "x"}, "KAFKABAL_VERBOSE: not a whole number: 'x'"),
        (["probe"], {"KAFKABAL_VERBOSE": "-1"}, "KAFKABAL_VERBOSE: must be "),
        (["failing"], {}, "missing argument"),
        (["asking", "more"], {}, "too many arguments: 'more'"),
        (["asking", ""], {}, "too many arguments: ''"),
        (["group", "--force", "inner"], {}, "option before the command: --force"),
        (["group", "--tolerance", "5%", "inner"], {}, "option before the command: --tolerance"),
        (["bare", "outer"], {}, "unknown command: kafkabal bare outer"),
    ],
)
def test_invalid_arguments_give_one_line_and_exit_2(
    run_cli: Callable[..., Any], words: list[str], environ: dict[str, str], message: str
) -> None:
    """A usage error is one line with at most one hint, and stdout stays empty."""
    outcome = run_cli(*words, environ=environ)

    lines = outcome.err.splitlines()
    assert outcome.code == ExitCode.USAGE
    assert outcome.out == ""
    assert lines[0].startswith("kafkabal: error: ")
    assert message in lines[0]
    assert all(line.startswith("kafkabal: hint: ") for line in lines[1:])
    assert len(lines) <= 2


@pytest.mark.parametrize(
    ("kind", "code", "lines"),
    [
        ("usage", 2, ["kafkabal: error: bad words", "kafkabal: hint: use better ones"]),
        ("unreachable", 1, ["kafkabal: error: nobody at localhost:1"]),
        ("refused", 1, ["kafkabal: error: not yours"]),
        ("partial", 1, ["kafkabal: error: 1 of 2 failed", "  t-0: TIMED_OUT"]),
        ("findings", 3, ["kafkabal: a plan is pending"]),
        ("drift", 4, ["kafkabal: error: t-0 has moved"]),
        ("busy", 75, ["kafkabal: error: held by pid 7"]),
        ("interrupted", 130, ["kafkabal: 3 of 5 done", "kafkabal: hint: go on with: kafkabal rebalance resume"]),
        ("terminated", 143, ["kafkabal: 3 of 5 done"]),
        ("ctrl-c", 130, ["kafkabal: interrupted"]),
        ("pipe", 1, []),
        ("write", 1, ["kafkabal: error: cannot write the output: No space left on device"]),
    ],
)
def test_every_error_has_its_line_and_its_exit_code(
    run_cli: Callable[..., Any], kind: str, code: int, lines: list[str]
) -> None:
    """Each type of error ends with its documented exit code and prints only its own lines."""
    outcome = run_cli("failing", kind)

    assert (outcome.code, outcome.err.splitlines()) == (code, lines)


def test_a_bug_prints_its_traceback_and_where_to_report_it(run_cli: Callable[..., Any]) -> None:
    """An exception that is not ours keeps its traceback and is reported as a bug."""
    outcome = run_cli("failing", "bug")

    assert outcome.code == 1
    assert "Traceback (most recent call last)" in outcome.err
    assert "ZeroDivisionError: this is a bug in kafkabal" in outcome.err


@pytest.mark.parametrize(
    ("words", "code", "start"),
    [
        (["failing", "unreachable"], 2, "KAFKABAL CRITICAL - nobody at localhost:1"),
        (["failing", "refused"], 3, "KAFKABAL UNKNOWN - not yours"),
        (["probe", "--tolerance", "x"], 3, "KAFKABAL UNKNOWN - --tolerance"),
        (["failing", "bug"], 3, "KAFKABAL UNKNOWN - division by zero"),
    ],
)
def test_nagios_gives_errors_the_form_of_a_plugin(
    monkeypatch: pytest.MonkeyPatch, run_cli: Callable[..., Any], words: list[str], code: int, start: str
) -> None:
    """With --nagios an error is one line on stdout and exit 2 or 3, usage errors included."""

    def nagios_failing(kind: Annotated[str, typer.Argument()], nagios: bool = False) -> None:
        """Fail in a given way."""
        raise FAILURES[kind]

    monkeypatch.setattr(sys.modules[__name__], "failing", nagios_failing)
    outcome = run_cli(*words, "--nagios")

    assert outcome.code == code
    assert len(outcome.out.splitlines()) == 1
    assert outcome.out.startswith(start) or "no such option" in outcome.out


def test_a_group_runs_by_itself_or_hands_on(run_cli: Callable[..., Any]) -> None:
    """A group with a function has its own options; with a command, only the command's options apply."""
    assert run_cli("group", "--share", "9%").code == 0
    assert SEEN.pop("share") == pytest.approx(0.09)

    assert run_cli("group", "inner", "--count", "4").code == 0
    assert (SEEN["count"], SEEN["share"]) == (4, 0.5)


def test_a_group_without_function_shows_its_commands_as_bad_usage(run_cli: Callable[..., Any]) -> None:
    """An incomplete command line shows the help on stderr and fails."""
    outcome = run_cli("bare")

    assert (outcome.code, outcome.out) == (ExitCode.USAGE, "")


def test_help_lists_commands_and_sections(run_cli: Callable[..., Any]) -> None:
    """Help goes to stdout: the commands of the table, options by section, and the environment variables."""
    root = run_cli("--help")
    assert root.code == 0
    assert "probe      Remember what it was given." in root.out
    assert "KAFKABAL_<OPTION>" in root.out

    own = run_cli("probe", "-h").out
    assert "\nCluster:\n" in own
    assert "\nOutput:\n" in own
    assert "--tolerance PERCENT" in own


def test_a_report_goes_to_stdout_or_whole_to_a_file(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """--output-file writes the same text to the file and leaves stdout empty."""
    target = tmp_path / "result.csv"
    shown = run_cli("reporting", "-o", "csv")
    written = run_cli("reporting", "-o", "csv", "--output-file", str(target))

    assert shown.out == "name\na\nb\n"
    assert (written.out, target.read_text()) == ("", shown.out)


def test_a_file_that_cannot_be_written_is_an_error(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """A missing folder is named, exit 1."""
    outcome = run_cli("reporting", "-o", "json", "--output-file", str(tmp_path / "no" / "such"))

    assert outcome.code == ExitCode.FAILED
    assert "cannot write" in outcome.err


@pytest.mark.parametrize(
    ("answer", "said"), [("y\n", "yes"), ("YES\n", "yes"), ("\n", "no"), ("", "no"), ("n\n", "no")]
)
def test_only_a_yes_is_a_yes(run_cli: Callable[..., Any], answer: str, said: str) -> None:
    """An empty answer, the end of input and any other text mean no."""
    outcome = run_cli("asking", stdin=answer)

    assert (outcome.code, outcome.err.splitlines()[-1]) == (0, f"Go on? [y/N] {said}")


def test_without_a_terminal_a_question_is_refused(run_cli: Callable[..., Any]) -> None:
    """Without a terminal there is no prompt: the error names the flag, and nothing happens."""
    outcome = run_cli("asking")

    assert outcome.code == ExitCode.USAGE
    assert "--yes" in outcome.err


def test_quiet_keeps_to_results_and_errors(run_cli: Callable[..., Any]) -> None:
    """-q suppresses progress messages."""
    assert run_cli("asking", "-q", stdin="y\n").err == "Go on? [y/N] "


@pytest.mark.parametrize(
    ("environ", "words", "coloured"),
    [
        ({}, [], True),
        ({"NO_COLOR": "1"}, [], False),
        ({"NO_COLOR": ""}, [], True),
        ({"TERM": "dumb"}, [], False),
        ({}, ["--no-color"], False),
        ({}, ["--color", "never"], False),
        ({"FORCE_COLOR": "1"}, ["--color", "never"], False),
        ({"NO_COLOR": "1"}, ["--color", "always"], True),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, [], False),
        ({"KAFKABAL_COLOR": "never"}, [], False),
    ],
)
def test_colour_is_for_terminals_that_want_it(
    run_cli: Callable[..., Any], environ: dict[str, str], words: list[str], coloured: bool
) -> None:
    """NO_COLOR, TERM=dumb, --no-color and --color never switch it off; --color overrides the environment."""
    assert ("\x1b[" in run_cli("reporting", "-o", "table", *words, environ=environ, terminal=True).out) is coloured


@pytest.mark.parametrize(
    ("environ", "words", "coloured"),
    [
        ({}, [], False),
        ({}, ["--color", "always"], True),
        ({"FORCE_COLOR": "1"}, [], True),
        ({"CLICOLOR_FORCE": "1"}, [], True),
        ({"CLICOLOR_FORCE": "0"}, [], False),
        ({"FORCE_COLOR": "1"}, ["--no-color"], False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, [], False),
    ],
)
def test_colour_can_be_forced_into_a_pipe(
    run_cli: Callable[..., Any], environ: dict[str, str], words: list[str], coloured: bool
) -> None:
    """--color always, FORCE_COLOR and CLICOLOR_FORCE colour piped output, as CI logs need it; NO_COLOR overrides
    them."""
    assert ("\x1b[" in run_cli("reporting", "-o", "table", *words, environ=environ).out) is coloured


PROGRAM = [sys.executable, "-m", "kafkabal"]


def test_help_imports_nothing_heavy() -> None:
    """--help and --version import neither numpy, rich, a Kafka library nor any command."""
    script = (
        "import sys; from kafkabal.cli.main import main; main([sys.argv[1]])\n"
        "heavy = {'numpy', 'rich', 'kafka', 'confluent_kafka', 'kazoo', 'pydantic', 'yaml', "
        "'kafkabal.cli.commands.inspect'}\n"
        "sys.exit(' '.join(sorted(heavy & set(sys.modules))) or 0)"
    )
    for word in ("--help", "--version"):
        done = subprocess.run([sys.executable, "-c", script, word], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def test_a_pipe_closed_early_causes_no_error() -> None:
    """A broken pipe ends the program silently."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([*PROGRAM, "--help"], stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)

    assert (done.returncode, done.stderr) == (1, b"")


def test_a_closed_pipe_is_noticed_without_a_write(tmp_path: Path) -> None:
    """A command that waits for hours ends once 'head' has exited; a file, or a pipe with a reader, does not end it."""
    reader, writer = os.pipe()
    with open(writer, "w") as pipe:  # noqa: PTH123
        CommandContext(stdout=pipe).check_stdout()
        os.close(reader)
        with pytest.raises(BrokenPipeError):
            CommandContext(stdout=pipe).check_stdout()
    with (tmp_path / "out").open("w") as file:
        CommandContext(stdout=file).check_stdout()
    CommandContext(stdout=io.StringIO()).check_stdout()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")  # noqa: PTH110
def test_a_full_disk_is_an_error() -> None:
    """A write error is reported with exit 1 and without a traceback."""
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        done = subprocess.run([*PROGRAM, "--help"], stdout=full, stderr=subprocess.PIPE, check=False)

    assert done.returncode == 1
    assert done.stderr.decode().splitlines() == ["kafkabal: error: cannot write the output: No space left on device"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")  # noqa: PTH110
@pytest.mark.parametrize("target", [">/dev/full", ">&-", "| true"])
@pytest.mark.parametrize(
    ("words", "code"),
    [("inspect --nagios --snapshot '$1'", 3), ("inspect --nagios --nonsense", 3), ("completion candidates topics", 0)],
)
def test_nobody_reads_what_other_programs_read(words: str, code: int, target: str) -> None:
    """A monitor, for which 1 is a warning, gets UNKNOWN; a shell that completes gets no traceback between its words."""
    snapshot = Path(__file__).parent / "snapshots" / "lopsided.jsonl"
    line = f'("$0" -m kafkabal {words.replace("$1", str(snapshot))}; echo $? >&2) {target}'
    done = subprocess.run(["sh", "-c", line, sys.executable], capture_output=True, text=True, check=False)

    *messages, exit_code = done.stderr.splitlines()
    assert int(exit_code) == code
    assert all(message.startswith(("kafkabal: error: ", "kafkabal: warning: ")) for message in messages)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")  # noqa: PTH110
@pytest.mark.parametrize(
    ("target", "messages"),
    [(">/dev/full", ["kafkabal: warning: cannot write the output: No space left on device"]), ("| true", [])],
)
def test_topics_that_were_created_are_not_a_failure(tmp_path: Path, target: str, messages: list[str]) -> None:
    """A cron job whose log is full must not take it for one: the next one would be refused, since they exist."""
    snapshot = Path(__file__).parent / "snapshots" / "lopsided.jsonl"
    words = f"create new -p 3 -r 1 --snapshot '{snapshot}' --save '{tmp_path / 'after.jsonl'}' -o json"
    line = f'("$0" -m kafkabal {words}; echo $? >&2) {target}'
    done = subprocess.run(["sh", "-c", line, sys.executable], capture_output=True, text=True, check=False)

    assert done.stderr.splitlines() == [*messages, "0"]
    assert '"new"' in (tmp_path / "after.jsonl").read_text()


def test_a_limit_of_file_sizes_is_an_error(tmp_path: Path) -> None:
    """An output file that may not grow is reported like a full disk."""
    line = 'ulimit -f 0; "$0" -m kafkabal --help > "$1"'
    done = subprocess.run(["sh", "-c", line, sys.executable, str(tmp_path / "out")], capture_output=True, check=False)

    assert done.returncode == 1
    assert done.stderr.decode().splitlines() == ["kafkabal: error: cannot write the output: File too large"]


def test_a_closed_stdout_is_an_error() -> None:
    """A program started without stdout reports that."""
    done = subprocess.run(["sh", "-c", '"$0" -m kafkabal --help >&-', sys.executable], capture_output=True, check=False)

    assert done.returncode == 1
    assert b"closed" in done.stderr
    assert b"Traceback" not in done.stderr


def test_no_file_gets_the_number_of_a_stream_that_is_missing(tmp_path: Path) -> None:
    """What a library writes to its standard error must not end up in the journal of a run."""
    script = (
        "import os\n"
        "from kafkabal.cli.entry_point import occupy_standard_descriptors\n"
        "occupy_standard_descriptors()\n"
        f"with open({str(tmp_path / 'journal')!r}, 'w') as journal:\n"
        "    os.write(2, b'noise')\n"
        "    journal.write(str(journal.fileno() > 2))\n"
    )
    shell = ["sh", "-c", 'exec "$0" -c "$1" <&- >&- 2>&-', sys.executable, script]
    assert subprocess.run(shell, check=False).returncode == 0
    assert (tmp_path / "journal").read_text() == "True"


def test_sigterm_ends_a_command_with_143() -> None:
    """SIGTERM becomes an exception, with a message and its own exit code."""
    script = (
        "import os, signal, sys\n"
        "from kafkabal.cli.framework.error_boundary import exit_code_of\n"
        "from kafkabal.cli.framework.command_context import CommandContext\n"
        "from kafkabal.cli.framework.termination_signals import raising_on_termination\n"
        "def run():\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    signal.pause()\n"
        "with raising_on_termination():\n"
        "    code = exit_code_of(run, [], CommandContext())\n"
        "sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=30)

    assert (done.returncode, done.stderr) == (143, "kafkabal: terminated\n")
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.mark.parametrize(("code", "expected", "says"), [(None, 0, ""), (3, 3, ""), ("no way", 1, "error: no way\n")])
def test_a_library_that_ends_the_process_gives_its_code(code: Any, expected: int, says: str) -> None:
    """A text instead of an exit code means failure, and is shown."""
    err = io.StringIO()

    def run() -> int:
        raise SystemExit(code)

    found = exit_code_of(run, [], CommandContext(stdout=io.StringIO(), stderr=err))
    assert (found, err.getvalue().removeprefix("kafkabal: ")) == (expected, says)


@pytest.mark.parametrize(
    ("raised", "says"),
    [(MemoryError(), "out of memory"), (RuntimeError("can't start new thread"), "cannot start a thread")],
)
def test_a_limit_of_the_process_is_no_bug(raised: Exception, says: str) -> None:
    """With too little memory (``ulimit -v``, a container) the user is not asked to report a bug."""
    err = io.StringIO()

    def run() -> int:
        raise raised

    assert exit_code_of(run, [], CommandContext(stdout=io.StringIO(), stderr=err)) == 1
    error, hint = err.getvalue().splitlines()
    assert error == f"kafkabal: error: {says}"
    assert hint.startswith("kafkabal: hint: raise the limits of this process")


@pytest.mark.parametrize("code", [errno.EACCES, errno.EPERM, errno.EROFS, errno.ELOOP, errno.ESTALE])
def test_a_file_that_the_host_refuses_is_named(code: int) -> None:
    """Wherever it is met, it is no bug of ours: one line with its path, and a hint."""
    err = io.StringIO()

    def run() -> int:
        raise OSError(code, os.strerror(code), "/srv/state/x.jsonl")

    assert exit_code_of(run, [], CommandContext(stdout=io.StringIO(), stderr=err)) == 1
    error, hint = err.getvalue().splitlines()
    assert error == f"kafkabal: error: cannot use /srv/state/x.jsonl: {os.strerror(code)}"
    assert hint.startswith("kafkabal: hint: ")


def test_commands_that_start_copies_or_delete_ask_first() -> None:
    """Commands that start copies or delete need a yes, except ``cancel``, the emergency stop (docs/adr/0014)."""
    asking = {
        name
        for name, row in _rows(COMMANDS)
        for leaf in read_signature(_function(row)).leaves()
        if leaf.name == "yes" and "required without a terminal" in (leaf.info.help or "")
    }
    runs = {f"rebalance {name}" for name in ("apply", "adopt", "resume", "rollback", "repair")}
    assert asking == {"rebalance", *runs}


def _rows(rows: Mapping[str, Row], group: str = "") -> Iterator[tuple[str, Row]]:
    for name, row in rows.items():
        if row.function:
            yield f"{group}{name}", row
        yield from _rows(row.commands or {}, f"{group}{name} ")


def _function(row: Row) -> Callable[..., Any]:
    module, _, name = row.function.partition(":")
    function: Callable[..., Any] = getattr(import_module(module), name)
    return function
