"""A topic as a data set to iterate over."""

from __future__ import annotations

import asyncio
import os
import sys
import warnings
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from itertools import islice
from math import gcd
from pathlib import Path
from typing import Any, Final

from kafkabal.atomic_files import check_replaceable
from kafkabal.config import ConnectionSettings, named_connection
from kafkabal.errors import UsageError
from kafkabal.input_files import exists, naming_file
from kafkabal.plain_functions import function_fault
from kafkabal.reader.block_loader_factory import BlockLoaderFactory
from kafkabal.reader.checkpoint import Checkpoint, load_state, save_state
from kafkabal.reader.choose_manifest import manifest_of
from kafkabal.reader.decoders import Decoder, OnError, decode_samples, load_decoder
from kafkabal.reader.end_with_parent import end_with_parent
from kafkabal.reader.epoch_progress import MOST_READERS, EpochProgress
from kafkabal.reader.manifest import Manifest
from kafkabal.reader.metrics import ReaderMetrics, call_periodically
from kafkabal.reader.prefetch import DEFAULT_PREFETCH_BYTES
from kafkabal.reader.progress_listeners import progress_listeners
from kafkabal.reader.reader_options import (
    DEFAULT_CACHE_BYTES,
    LARGEST_NUMBER,
    ReaderOptions,
    bytes_of,
    choice_of,
    connection_of,
    flag_of,
    path_of,
    refuse_empty,
    text_of,
    whole_number,
)
from kafkabal.reader.reader_shard import Balance, ReaderShard, Tail
from kafkabal.reader.sample import Sample
from kafkabal.reader.sample_iterator import SampleIterator, Supply
from kafkabal.reader.shared_work_ledger import RankStart
from kafkabal.reader.work_stealing_iterator import WorkStealingIterator
from kafkabal.wording import counted_noun

_MOST_EPOCHS: Final = 2**31 - 1
"""With more, the number of samples of an iteration might exceed what ``len`` can return."""


class TopicReader:
    """The samples of a topic, in an order that does not depend on the number of readers.

    Iterating gives this reader's samples, ``epochs`` epochs of them; iterating again gives the next epochs, or what is
    left if the iteration before was not finished. One iterator gives samples at a time: an older one then raises a
    UsageError. The content is pinned when the object is created, so later records change nothing.

    Parameters
    ----------
    topic
        Name.
    profile, bootstrap_servers, command_config
        How to reach the cluster: a profile, or ``host:port`` and a Java ``client.properties``; by default the
        environment.
    connection
        The same, already resolved.
    shuffle_seed
        Seed of the order; None takes the blocks, and the records in each, in stored order, but still from many blocks
        in turn.
    epochs
        Epochs per iteration, 1 or more.
    decode
        ``image``, ``numpy``, ``text``, ``json``, ``package.module:function``, or a function that takes a sample.
    on_error
        What to do with a sample that the decoder refuses, or a split file that is damaged: ``raise``, ``skip`` or
        ``count``.
    prefetch
        Memory for open and prefetched blocks: bytes, or text such as ``256MiB``.
    cache, cache_bytes
        A folder to cache blocks in on a local disk, and its limit in bytes or as text; readers may share it.
    rack
        Read from replicas in this rack if they are in sync.
    rank, world_size
        Rank of this process, and number of processes that share the topic.
    num_workers
        Workers of the data loader around it; each is a reader of its own.
    tail
        ``drop``, ``repeat`` or ``keep``: see :class:`Tail`.
    manifest
        A manifest, or a file that all ranks see: the first rank writes it, the others read it. Required if
        ``world_size`` is above 1, because ranks that pin independently may pin different offsets.
    count
        Whether to read the topic once to find missing offsets; None does so only if some must be missing.
    join
        Whether a file that was split (``produce --chunk``) is one sample, with its SHA-256 checked; False gives its
        pieces.
    state
        A state, or a file with one, to resume from; a missing file means the beginning.
    group
        Consumer group in which reader 0 commits the progress of all readers, for monitoring.
    balance
        ``static``: every reader keeps its share. ``dynamic``: a reader that has finished takes work from slow ones, so
        that readers get unequal numbers of samples; needs a ``manifest`` file, next to which they keep their ledger.
    run_id
        For ``balance="dynamic"``: text that all ranks of a start have in common, and no other start has, such as a job
        id; None takes that of torchrun, if it has started these ranks.
    metrics_file, on_metrics
        A Prometheus textfile to write, for each of several readers with its number in the name, and a function to call
        with a :class:`ReaderMetrics`, every 5 seconds. If one fails, that is a warning.

    Raises
    ------
    UsageError
        If an option is invalid, the topic is unknown or empty, or the state is of another data set.
    KafkabalError
        If brokers do not respond or refuse, or a file cannot be written.
    """

    def __init__(
        self,
        topic: str,
        *,
        profile: str | None = None,
        bootstrap_servers: str | None = None,
        command_config: str | None = None,
        connection: ConnectionSettings | None = None,
        shuffle_seed: int | None = None,
        epochs: int = 1,
        decode: str | Decoder | None = None,
        on_error: str = "raise",
        prefetch: str | int = DEFAULT_PREFETCH_BYTES,
        cache: str | Path | None = None,
        cache_bytes: str | int = DEFAULT_CACHE_BYTES,
        rack: str | None = None,
        rank: int = 0,
        world_size: int = 1,
        num_workers: int = 0,
        tail: str = "drop",
        manifest: Manifest | str | Path | None = None,
        count: bool | None = None,
        join: bool = True,
        state: Mapping[str, Any] | str | Path | None = None,
        group: str | None = None,
        metrics_file: str | Path | None = None,
        on_metrics: Callable[[ReaderMetrics], None] | None = None,
        balance: str = "static",
        run_id: str | None = None,
    ) -> None:
        world_size = whole_number("world_size", world_size, least=1, most=MOST_READERS)
        rank = whole_number("rank", rank, most=world_size - 1)
        num_workers = whole_number("num_workers", num_workers, most=MOST_READERS // world_size)
        self._rank, self._world_size, self._workers = rank, world_size, max(1, num_workers)
        self._has_workers = num_workers > 0
        refuse_empty(topic=topic, manifest=manifest, state=state)
        self._start = RankStart.of(rank, text_of("run_id", run_id) or _run_id_of_torchrun(world_size))
        _warn_of_other_ranks(world_size)
        _check_listener(on_metrics)
        chosen = _balance(balance, manifest)
        seed = None if shuffle_seed is None else whole_number("shuffle_seed", shuffle_seed, least=-LARGEST_NUMBER)
        connection = connection_of(connection) or named_connection(profile, bootstrap_servers, command_config)
        join, count = flag_of("join", join), None if count is None else flag_of("count", count)
        self._epochs = whole_number("epochs", epochs, least=1, most=_MOST_EPOCHS)
        self._options = ReaderOptions(
            connection=connection,
            join=join,
            seed=seed,
            tail=choice_of(Tail, "tail", tail),
            decode=load_decoder(decode),
            on_error=choice_of(OnError, "on_error", on_error),
            prefetch_bytes=bytes_of("prefetch", prefetch),
            cache=path_of("cache", cache),
            cache_bytes=bytes_of("cache_bytes", cache_bytes),
            rack=text_of("rack", rack),
            group=text_of("group", group),
            metrics_file=path_of("metrics_file", metrics_file),
            on_metrics=on_metrics,
            balance=chosen,
            ledgers=Path(f"{manifest}.readers") if isinstance(manifest, str | Path) else None,
            # last: a wrong option should not wait until a large topic is counted
            manifest=self._chosen_manifest(topic, connection, manifest, count=count, join=join),
        )
        self.metrics = ReaderMetrics(rack=rack)
        """Totals over all iterations of this object, in this process."""
        self._blocks = BlockLoaderFactory(self._options, self.metrics)
        self._begin()
        self._state_file = Path(state) if isinstance(state, str | Path) else None
        self._resume(state)
        self._warn_of_no_samples()

    def _chosen_manifest(
        self,
        topic: str,
        connection: ConnectionSettings,
        given: Manifest | str | Path | None,
        *,
        count: bool | None,
        join: bool,
    ) -> Manifest:
        readers = self._world_size * self._workers
        return manifest_of(topic, connection, given, count=count, join=join, readers=readers, ranks=self._world_size)

    def _begin(self) -> None:
        """Set the position to the first sample, with no iteration running."""
        self._first_epoch, self._is_finished = 0, False
        self._position = self._start_of_epoch(0, ReaderShard(self._rank, self._world_size))
        """The position while no iteration runs, and where the running one began."""
        self._is_untouched = False
        """Whether a state was loaded, and no sample was read since."""
        self._gives_rest = False
        """Whether a state was loaded, whose rest the next iteration gives, even if nothing is left."""
        self._is_read_here = False
        """Whether an iterator was created in this process."""
        self._sequence: SampleIterator | WorkStealingIterator | None = None
        self._running: Generator[Sample, None, None] | None = None
        """What gives the samples of the newest iterator."""
        self._iterators = 0
        """Number of the newest iterator."""

    def _resume(self, state: Mapping[str, Any] | str | Path | None) -> None:
        """Continue from a state, or from a file with one if it is there."""
        if isinstance(state, str | Path):
            if exists(Path(state)):
                self._load_state_file(Path(state))
            else:  # a mistyped folder should not show when an epoch is over
                check_replaceable(Path(state))
        elif state is not None:
            self.load_state_dict(state)

    @property
    def manifest(self) -> Manifest:
        """What is read."""
        return self._options.manifest

    def __len__(self) -> int:
        """Samples of a whole iteration on this rank, before the decoder leaves any out."""
        readers = self._world_size * self._workers
        own = range(self._rank * self._workers, (self._rank + 1) * self._workers)
        shards = (ReaderShard(reader, readers, self._options.tail) for reader in own)
        return sum(shard.count(self.manifest.samples) for shard in shards) * self._epochs

    def set_epoch(self, epoch: int) -> None:
        """Start the next iteration with this epoch, counted from 0; inside it if a state of this epoch was loaded.

        A running iteration ends.
        """
        epoch = whole_number("epoch", epoch)
        self._first_epoch, self._is_finished = epoch, False
        self._drop_sequence()
        if not (self._is_untouched and self._position.progress.epoch == epoch):
            self._position = self._start_of_epoch(epoch, self._position)
            self._is_untouched = self._gives_rest = False

    def __iter__(self) -> Generator[Sample, None, None]:
        # begun now, not with the first sample: a stateful data loader asks for the state in between
        self._begin_iteration(self._shard())
        self._iterators += 1
        return self._iterate(self._iterators)

    def _begin_iteration(self, shard: ReaderShard) -> None:
        """Move from the end of an iteration to the beginning of the next one."""
        self._end_running()
        if not self._continues_sharing(shard):
            self._take_position()
        if self._is_finished or (self._is_at_end and not self._gives_rest):
            self._first_epoch, self._is_finished = self._position.progress.epoch + 1, False
            self._position = self._start_of_epoch(self._first_epoch, shard)
        if not self._is_read_here and _data_loader_worker() is not None:
            end_with_parent()
        self._gives_rest, self._is_read_here = False, True
        self._move_to(shard)

    def _iterate(self, number: int) -> Generator[Sample, None, None]:
        self._check_newest(number)
        shard = self._shard()
        self._warn_of_lanes(shard)
        self._move_to(shard)  # a state may have been loaded since, or this is now a worker
        self._is_untouched = False
        with ExitStack() as at_end:
            listeners = progress_listeners(
                options=self._options,
                shard=shard,
                position=lambda: self._sequence or self._position,
                until_epoch=self._until_epoch,
                metrics=self.metrics,
                expires_at_s=self._blocks.expires_at_s,
                at_end=at_end,
            )
            # the sequence outlives this loop, and would keep the reader, with its lock of shared work, until a garbage
            # collection: training that starts again in the same process would wait for that lock
            at_end.callback(listeners.clear)
            for sequence in self._sequences(shard, call_periodically(listeners, self.metrics)):
                self._sequence, self._running = sequence, self._decoded(sequence, number)
                self._check_newest(number)  # not before: an asyncio loop that is cancelled in between sees the sequence
                yield from self._running
                self._check_newest(number)
            for listener in listeners:
                listener()
        self._take_position()
        self._is_finished = True

    def _check_newest(self, number: int) -> None:
        """Refuse an iterator whose samples another one gives by now: each of them would come twice."""
        if number != self._iterators:
            raise UsageError(
                f"topic {self.manifest.topic}: this iterator has ended, since the reader was iterated over again or "
                "moved by set_epoch or load_state_dict",
                hint="use one iterator at a time, or create a TopicReader for each",
            )

    def _end_running(self) -> None:
        """End the iterator that gives samples now, if any."""
        if self._running is None:
            return
        try:
            self._running.close()
        except ValueError as error:  # a generator that is running cannot be closed
            raise UsageError(
                f"topic {self.manifest.topic}: the reader is in use by another thread",
                hint="create a TopicReader in each thread",
            ) from error
        self._running = None
        self._iterators += 1

    def _sequences(
        self, shard: ReaderShard, each_portion: Callable[[], None]
    ) -> Iterator[SampleIterator | WorkStealingIterator]:
        """Yield the iterators one after the other: a single one, or one per epoch if readers take work from each
        other."""
        options, until_epoch, progress = self._options, self._until_epoch, self._position.progress
        supply = Supply(
            open_loader=self._blocks.loaders(),
            limit_bytes=options.prefetch_bytes,
            broker_of=self._blocks.broker_of,
        )
        if options.balance is Balance.STATIC:
            yield SampleIterator(
                self.manifest,
                supply,
                seed=options.seed,
                shard=shard,
                progress=progress,
                taken=self._position.taken,
                until_epoch=until_epoch,
                metrics=self.metrics,
                each_portion=each_portion,
                check_damaged=iter if self._decodes else self._checked,
            )
            return
        assert options.ledgers is not None
        if isinstance(self._sequence, WorkStealingIterator):  # stopped in mid-epoch
            self._sequence.each_portion = each_portion  # the listeners of the loop before are closed
            yield self._sequence
            progress = EpochProgress(self._sequence.progress.epoch + 1)
        elif self._position.taken:  # resuming a state of readers that were in step
            progress = progress.after([self._position.taken] * shard.readers)
        while progress.epoch < until_epoch:
            yield WorkStealingIterator(
                self.manifest,
                supply,
                options.ledgers,
                seed=options.seed,
                shard=shard,
                progress=progress,
                start=self._start,
                metrics=self.metrics,
                each_portion=each_portion,
            )
            progress = EpochProgress(progress.epoch + 1)

    async def __aiter__(self) -> AsyncIterator[Sample]:
        """Yield the same samples asynchronously; a thread waits for blocks and decodes while the event loop runs on."""
        samples, number = iter(self), self._iterators
        while (sample := await self._next_in_thread(samples, number)) is not None:
            yield sample
            # a hop to a thread costs 0.1 ms, more than most samples. None is taken before it is asked for: the state
            # would count it as yielded
            while self._has_sample_ready:
                yield next(samples)

    async def _next_in_thread(self, samples: Iterator[Sample], number: int) -> Sample | None:
        """The next sample, None at the end; if the wait for it is cancelled, the next iteration gives it."""
        before = self._before_next
        try:
            return await asyncio.to_thread(next, samples, None)
        except asyncio.CancelledError:
            self._give_back(number, *before)
            if number == self._iterators:
                self._iterators += 1  # ends it in the thread, too
            raise

    def batches(self, batch_size: int) -> Iterator[list[Sample]]:
        """Yield the same samples in lists of ``batch_size``; the last one may be shorter."""
        return self._batches(whole_number("batch_size", batch_size, least=1))

    def _batches(self, size: int) -> Iterator[list[Sample]]:
        samples, number = iter(self), self._iterators
        while batch := self._next_batch(samples, number, size):
            yield batch

    def _next_batch(self, samples: Iterator[Sample], number: int, size: int) -> list[Sample]:
        """The next batch; if an error or Ctrl-C interrupts it, the next iteration gives all of it."""
        before = self._before_next
        try:
            return list(islice(samples, size))
        except BaseException:
            self._give_back(number, *before)
            raise

    @property
    def _before_next(self) -> tuple[Checkpoint, EpochProgress, int]:
        """What :meth:`_give_back` needs: a whole checkpoint would cost as much as some samples."""
        running = self._sequence or self._position
        return self._position, running.progress, running.taken

    def _give_back(self, number: int, position: Checkpoint, progress: EpochProgress, taken: int) -> None:
        """Return to where an iterator was before it took samples that it could not return."""
        if number != self._iterators:
            return
        self._running = None
        if isinstance(self._sequence, WorkStealingIterator):
            # what it took in an epoch before cannot be returned: other readers may have begun the next one
            self._sequence.give_back(taken if progress == self._sequence.progress else 0)
            return
        self._position = replace(position, progress=progress, taken=taken)
        self._sequence = None

    def state_dict(self) -> dict[str, Any]:
        """The position of this reader, exact to the sample yielded last; for the trainer's checkpoint."""
        if self._has_workers and not self._is_read_here and _data_loader_worker() is None:
            warnings.warn(
                f"topic {self.manifest.topic}: this process does not know what the workers of its data loader have "
                "read: save the state of a StatefulDataLoader",
                stacklevel=2,
            )
        return self._current_position.as_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resume from a state, saved with any number of readers.

        If it was saved at the end of an iteration, the next iteration is empty, and the one after it gives the next
        epochs. A running iteration ends.

        Raises
        ------
        UsageError
            If it is not a state, or one of other data.
        """
        checkpoint = Checkpoint.from_dict(state)
        if checkpoint.identity != self.manifest.identity:
            raise UsageError(
                f"the state is of another data set: {checkpoint.identity} (topic {self.manifest.topic} as pinned now "
                f"is {self.manifest.identity})",
                hint="keep the manifest with the state: manifest=FILE",
            )
        if checkpoint.seed != self._options.seed:
            raise UsageError(f"the state is of another order: seed {checkpoint.seed} (not {self._options.seed})")
        checkpoint.check_within(self.manifest.samples)
        self._drop_sequence()
        self._position, self._is_finished = checkpoint, False
        self._is_untouched = self._gives_rest = True

    def _load_state_file(self, path: Path) -> None:
        state = load_state(path)
        with naming_file(path):
            self.load_state_dict(state)

    def save(self) -> None:
        """Write the state to the file given as ``state``.

        Raises
        ------
        UsageError
            If no file was given.
        OutputError
            If it cannot be written.
        """
        if self._state_file is None:
            raise UsageError("no file to save the state to: give state=FILE")
        save_state(self.state_dict(), self._state_file)

    def __getstate__(self) -> dict[str, Any]:
        """For workers that are started afresh: the position without the running iteration."""
        return {**self.__dict__, "_position": self._current_position, "_sequence": None, "_running": None}

    @property
    def _current_position(self) -> Checkpoint:
        running = self._sequence
        if running is None:
            return self._position
        ranges = running.ranges if isinstance(running, WorkStealingIterator) else None
        return replace(self._position, progress=running.progress, taken=running.taken, ranges=ranges)

    @property
    def _until_epoch(self) -> int:
        """The epoch after the last one of the iteration that the position is in."""
        past = (self._position.progress.epoch - self._first_epoch) // self._epochs  # below 0 in a state of before
        return self._first_epoch + (past + 1) * self._epochs

    @property
    def _is_at_end(self) -> bool:
        """Whether all samples of the iteration were yielded, but the trainer has not asked for another one."""
        position = self._position
        if position.ranges is not None or (not position.taken and position.progress.is_start):
            return False
        shard = ReaderShard(position.reader, position.readers, self._options.tail)
        is_epoch_read = shard.count(position.progress.left(self.manifest.samples)) <= position.taken
        return is_epoch_read and position.progress.epoch + 1 >= self._until_epoch

    @property
    def _has_sample_ready(self) -> bool:
        """Whether the next sample neither waits for a block or a lock nor has to be decoded."""
        return not self._decodes and isinstance(self._sequence, SampleIterator) and self._sequence.is_ready

    @property
    def _decodes(self) -> bool:
        """Whether every sample is checked; if not, those of damaged blocks still are."""
        is_static = self._options.balance is Balance.STATIC
        return self._options.decode is not None or self.manifest.files is not None or not is_static

    def _start_of_epoch(self, epoch: int, reader: ReaderShard | Checkpoint) -> Checkpoint:
        return Checkpoint(
            identity=self.manifest.identity,
            seed=self._options.seed,
            progress=EpochProgress(epoch),
            reader=reader.reader,
            readers=reader.readers,
            taken=0,
        )

    def _continues_sharing(self, shard: ReaderShard) -> bool:
        """Whether an iteration of readers that take work from each other was left early, and is continued."""
        position = self._position
        is_same_reader = (position.reader, position.readers) == (shard.reader, shard.readers)
        return isinstance(self._sequence, WorkStealingIterator) and is_same_reader and not self._is_finished

    def _move_to(self, shard: ReaderShard) -> None:
        """Make the position that of this reader: of another number of readers, in a worker or from a state."""
        if self._sequence is None:
            progress, taken = self._position.resumed_by(shard)
            self._position = replace(
                self._position, progress=progress, reader=shard.reader, readers=shard.readers, taken=taken, ranges=None
            )

    def _take_position(self) -> None:
        """Continue where the last iteration stopped."""
        self._position = self._current_position
        self._drop_sequence()

    def _drop_sequence(self) -> None:
        self._end_running()
        if isinstance(self._sequence, WorkStealingIterator):
            self._sequence.close()
        self._sequence = None

    def _shard(self) -> ReaderShard:
        worker, workers = _data_loader_worker() or (0, 1)
        return ReaderShard(self._rank * workers + worker, self._world_size * workers, self._options.tail)

    def _warn_of_lanes(self, shard: ReaderShard) -> None:
        times = shard.readers // gcd(shard.readers, self.manifest.lanes)
        if times > 1 and shard.reader == 0:
            is_expected = shard.readers == self._world_size * self._workers
            remedy = "with a new manifest" if is_expected else f"num_workers={shard.readers // self._world_size}"
            warnings.warn(
                f"{shard.readers} readers share {counted_noun(self.manifest.lanes, 'lane')}: "
                f"every block is fetched {times} times; pin the topic for them ({remedy})",
                stacklevel=3,
            )

    def _warn_of_no_samples(self) -> None:
        readers = self._world_size * self._workers
        if self._rank == 0 and not ReaderShard(0, readers, self._options.tail).count(self.manifest.samples):
            warnings.warn(
                f"topic {self.manifest.topic}: {counted_noun(self.manifest.samples, 'sample')} for {readers} readers, "
                "and tail='drop': no reader gets any",
                stacklevel=3,
            )

    def _decoded(self, samples: SampleIterator | WorkStealingIterator, number: int) -> Generator[Sample, None, None]:
        if not self._decodes:
            return iter(samples)
        return self._checked(
            samples, lambda: self._give_back(number, self._position, samples.progress, samples.taken - 1)
        )

    def _checked(
        self, samples: Iterable[Sample], interrupted: Callable[[], None] = lambda: None
    ) -> Generator[Sample, None, None]:
        options = self._options
        return decode_samples(samples, options.decode, options.on_error, self.manifest.topic, self.metrics, interrupted)


def _check_listener(on_metrics: Callable[[ReaderMetrics], None] | None) -> None:
    if on_metrics is not None and (fault := function_fault(on_metrics)) is not None:
        raise UsageError(f"on_metrics: {fault}")


def _balance(given: str, manifest: Manifest | str | Path | None) -> Balance:
    """How readers share samples; sharing dynamically needs a file that all of them see."""
    balance: Balance = choice_of(Balance, "balance", given)
    if balance is Balance.DYNAMIC and not isinstance(manifest, str | Path):
        raise UsageError(
            "balance='dynamic' needs a manifest file", hint="give manifest=FILE, in a folder that all ranks see"
        )
    return balance


def _warn_of_other_ranks(world_size: int) -> None:
    """Warn if torchrun has started several ranks, and this reader would give each of them all samples."""
    started = os.environ.get("WORLD_SIZE", "")
    if world_size == 1 and started.isdecimal() and int(started) > 1:
        warnings.warn(
            f"WORLD_SIZE is {started}, but this reader has world_size=1, so every rank reads all samples: "
            "pass rank and world_size",
            stacklevel=3,
        )


def _run_id_of_torchrun(world_size: int) -> str:
    """What torchrun calls this start of these ranks; empty if it does not name it, or has started only some of them.

    Each job of an array, with some of the ranks, may have a torchrun of its own.
    """
    found = os.environ.get("TORCHELASTIC_RUN_ID", "")
    return found if found != "none" and os.environ.get("WORLD_SIZE") == str(world_size) else ""


def _data_loader_worker() -> tuple[int, int] | None:
    """Index of this worker of a torch DataLoader, and the number of workers; None outside of one."""
    torch = sys.modules.get("torch.utils.data")
    info = torch.get_worker_info() if torch is not None else None
    return None if info is None else (info.id, info.num_workers)
