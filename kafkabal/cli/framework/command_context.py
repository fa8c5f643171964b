"""The environment of a command in one object: streams, terminal, variables, clock and folders.

``main`` creates it from the running process; tests create their own, and so need no patching.
"""

from __future__ import annotations

import os
import select
import shutil
import sys
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TextIO

from kafkabal.errors import OutputError, UsageError
from kafkabal.printable import printable, with_long_words_cut
from kafkabal.user_folders import user_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from kafkabal.reporting.output_capabilities import OutputCapabilities
    from kafkabal.reporting.transfer_progress import TransferProgress

PROGRAM = "kafkabal"
_YES = frozenset({"y", "yes"})
_MOST_HELD = 100
"""Lines: more than a screen holds; while a full screen is shown, older ones are dropped."""


class Colour(StrEnum):
    """When output is coloured."""

    AUTO = "auto"
    """On a terminal, unless the environment says otherwise."""
    ALWAYS = "always"
    NEVER = "never"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)  # never compared or printed, and starts sooner without
class CommandContext:
    """The environment of one invocation.

    Results go to :attr:`stdout` through :func:`kafkabal.cli.framework.show_report.show_report`; everything else goes to
    :attr:`stderr` through :meth:`say`, :meth:`detail` and :meth:`warn`.
    """

    stdin: TextIO = field(default_factory=lambda: sys.stdin or _closed())
    stdout: TextIO = field(default_factory=lambda: sys.stdout or _closed())
    stderr: TextIO = field(default_factory=lambda: sys.stderr or StringIO())
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    wall_clock: Callable[[], float] = time.time
    """Seconds since the epoch."""
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    begun_ago_s: Callable[[], float] = float
    """Seconds since the command was begun, as far as a timeout counts them: those of the process, if it is its own."""
    folders: Mapping[str, Path] = field(default_factory=dict)
    """Overrides of the folders by name: ``config``, ``cache``, ``state``."""
    quiet: bool = False
    verbosity: int = 0
    colour: Colour = Colour.AUTO
    given: frozenset[str] = frozenset()
    """Options on the command line, by their long form, such as ``--once``."""
    completed: Callable[[str], str] = str
    """Completes commands that a message proposes with the options of this command that select the cluster."""
    held: deque[str] = field(default_factory=lambda: deque(maxlen=_MOST_HELD))
    """Warnings held back by ``-q``: they are shown only if the command fails."""
    warned: set[str] = field(default_factory=set)
    """What :meth:`warn_once` has warned of."""

    def adjusted(self, *, quiet: bool, verbosity: int, colour: Colour) -> CommandContext:
        """The same context, adjusted to the options of one command."""
        return replace(self, quiet=quiet, verbosity=verbosity, colour=colour)

    @property
    def can_ask(self) -> bool:
        """Whether a user can answer prompts at a terminal."""
        return _is_terminal(self.stdin) and _is_terminal(self.stderr)

    @cached_property
    def out(self) -> OutputCapabilities:
        """Display abilities of stdout."""
        return self._surface(self.stdout)

    @cached_property
    def err(self) -> OutputCapabilities:
        """Display abilities of stderr."""
        return self._surface(self.stderr)

    @property
    def help_columns(self) -> int | None:
        """Columns of the terminal that shows help; None if stdout is not a terminal."""
        is_known = _is_terminal(self.stdout) or "COLUMNS" in self.environ
        return _width(self.environ, self.stdout) if is_known else None

    @property
    def config_dir(self) -> Path:
        """Folder of the profiles."""
        return self._folder("config")

    @property
    def cache_dir(self) -> Path:
        """Folder of files that can be regenerated, such as the names for completion."""
        return self._folder("cache")

    @property
    def state_dir(self) -> Path:
        """Folder of files that must be kept, such as journals."""
        return self._folder("state")

    def say(self, text: str) -> None:
        """Show progress, unless ``-q``."""
        if not self.quiet:
            self._write_line(text)

    def detail(self, text: str) -> None:
        """Show a detail, with ``-v``."""
        if self.verbosity:
            self._write_line(text)

    def warn(self, text: str) -> None:
        """Warn; with ``-q`` only if the command fails."""
        if self.quiet:
            self.held.append(self.completed(text))
        else:
            self.alert(text)

    def warn_once(self, text: str) -> None:
        """Warn of what each reading of the cluster finds again."""
        if text not in self.warned:
            self.warned.add(text)
            self.warn(text)

    def alert(self, text: str) -> None:
        """Warn, also with ``-q``, of what no exit code shows: monitoring without data, or a result that is lost."""
        self._write_line(f"{PROGRAM}: warning: {text}")

    def release_warnings(self, but_for: Collection[str] = ()) -> None:
        """Show the warnings held back by ``-q``, except those that the error itself lists."""
        while self.held:
            text = self.held.popleft()
            if text not in but_for:
                self.alert(text)

    def complain(self, text: str, hint: str | None = None) -> None:
        """Show why the command fails, and what to do about it."""
        self._write_line(with_long_words_cut(printable(f"{PROGRAM}: {text}")))
        if hint:
            self._write_line(with_long_words_cut(printable(f"{PROGRAM}: hint: {hint}")))

    def add(self, text: str) -> None:
        """Add details to the error shown before."""
        self._write_line(text)

    def confirm(self, question: str, *, flag: str) -> bool:
        """Ask for a yes; any other answer is a no.

        Parameters
        ----------
        flag
            The option that answers yes in advance, such as ``--yes``.

        Raises
        ------
        UsageError
            If there is no terminal to prompt on; the message names ``flag``.
        """
        if not self.can_ask:
            raise UsageError(
                f"not a terminal: cannot prompt for {question!r}", hint=f"add {flag} to run without a prompt"
            )
        print(f"{printable(question)} [y/N] ", end="", file=self.stderr, flush=True)
        return self.stdin.readline().strip().lower() in _YES

    def progress(self, what: str, total_bytes: int | None) -> TransferProgress:
        """Show how many of ``total_bytes`` are done: a bar on a terminal, an occasional line elsewhere, or nothing.

        The total is None if unknown.
        """
        from kafkabal.reporting.transfer_progress import open_progress  # rich is costly to import

        return open_progress(
            what,
            total_bytes,
            surface=self.err,
            stream=self.stderr,
            monotonic=self.monotonic,
            hidden=self.quiet,
        )

    def show_result(self, text: str) -> None:
        """Write a result; if stdout fails, only warn, since the command has already done its work."""
        try:
            self.stdout.write(text)
            self.stdout.flush()
        except OSError as error:
            self.drop_stdout()
            if not isinstance(error, BrokenPipeError):
                self.alert(f"cannot write the output: {error.strerror or error}")
        except ValueError:
            pass  # the process was started without a stdout

    def check_stdout(self) -> None:
        """Raise if stdout has no reader any more, which otherwise only the next write would show.

        Raises
        ------
        BrokenPipeError
            If the other end of the pipe is closed.
        OutputError
            If the process was started without a stdout.
        """
        if self.stdout.closed:
            raise OutputError("cannot write the output: closed")
        poll = select.poll()
        try:
            poll.register(self.stdout.fileno(), 0)  # errors are always reported
        except (OSError, ValueError):
            return  # a test's stream has no descriptor
        if poll.poll(0):
            raise BrokenPipeError

    def drop_stdout(self) -> None:
        """Discard the rest of stdout; otherwise the interpreter reports the same error at exit."""
        # a test's stream has no descriptor
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.stdout.fileno())

    def _write_line(self, text: str) -> None:
        # every write to a closed terminal fails; the command must not depend on it
        with suppress(OSError, ValueError):
            print(printable(self.completed(text), keep="\n\t"), file=self.stderr, flush=True)

    def _folder(self, kind: Literal["config", "state", "cache"]) -> Path:
        return self.folders[kind] if kind in self.folders else user_folder(kind)

    def _surface(self, stream: TextIO) -> OutputCapabilities:
        from kafkabal.reporting.output_capabilities import OutputCapabilities

        terminal = _is_terminal(stream)
        dumb = self.environ.get("TERM") == "dumb"
        return OutputCapabilities(
            width=_width(self.environ, stream) if terminal or "COLUMNS" in self.environ else None,
            colour=self._has_colour(terminal=terminal and not dumb),
            animated=terminal and not dumb,
            encoding=getattr(stream, "encoding", None) or "ascii",
        )

    def _has_colour(self, *, terminal: bool) -> bool:
        """``--color`` decides, then NO_COLOR, then FORCE_COLOR or CLICOLOR_FORCE, then whether it is a terminal.

        See https://no-color.org, https://force-color.org and https://bixense.com/clicolors.
        """
        if self.colour is not Colour.AUTO:
            return self.colour is Colour.ALWAYS
        if self.environ.get("NO_COLOR"):
            return False
        forced = (self.environ.get(name, "") for name in ("FORCE_COLOR", "CLICOLOR_FORCE"))
        return terminal or any(value not in ("", "0") for value in forced)


def _closed() -> TextIO:
    """Replace a stream that the process was started without."""
    stream = StringIO()
    stream.close()
    return stream


def _is_terminal(stream: TextIO) -> bool:
    return not stream.closed and stream.isatty()


def _width(environ: Mapping[str, str], stream: TextIO) -> int:
    """Columns of the terminal, or the value of ``COLUMNS``."""
    stated = environ.get("COLUMNS", "")
    if stated.isdigit() and int(stated) > 0:
        return int(stated)
    try:
        # a terminal without a size, as in a CI job or with 'docker run -t', reports 0 columns
        columns = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        columns = 0
    return columns or shutil.get_terminal_size().columns
