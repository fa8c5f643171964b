"""Progress events of a `produce` run, for a display."""

from dataclasses import dataclass

from kafkabal.errors import KafkabalError


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryProgress:
    """How far a run has come."""

    records: int
    """Records in the topic, including those of earlier runs."""
    bytes: int
    """Bytes of the source that are finished."""
    sent: int
    """Records of this run that were acknowledged."""
    sent_bytes: int
    """Bytes of the values of those records, as the report counts them."""
    handed_over: int
    """Records that this run has handed over to librdkafka."""
    skipped_bytes: int
    """The part of :attr:`bytes` that earlier runs had sent."""


class DeliveryListener:
    """Receives progress events; ignores them by default."""

    def starts(self, *, total_bytes: int, total_records: int | None) -> None:
        """All checks passed; ``total_bytes`` is 0 if the source cannot know it."""

    def measures(self) -> None:
        """All records are read to check their sizes, and that takes a while."""

    def reads_back(self) -> None:
        """An earlier run crashed: the topic is searched for its records."""

    def progressed(self, progress: DeliveryProgress) -> None:
        """Called about once a second."""

    def waits(self, why: str) -> None:
        """No record was acknowledged for some seconds; called again for as long as that lasts."""

    def refresh_failed(self, error: Exception) -> None:
        """The cluster could not be read; records are routed by the last view. Called by another thread."""

    def topic_check_failed(self, error: KafkabalError) -> None:
        """No broker could confirm that the topic is still the same; sending continues."""
