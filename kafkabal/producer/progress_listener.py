"""Events of a delivery, for a display."""

from dataclasses import dataclass

from kafkabal.errors import KafkabalError


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryProgress:
    """How far a run has come."""

    records: int
    """In the topic, those of earlier runs included."""
    bytes: int
    """Of the source that are done with."""
    sent: int
    """Records that were acknowledged to this run."""
    handed_over: int
    """Records that this run has taken on itself to send."""
    skipped_bytes: int
    """Of :attr:`bytes`, those of records that earlier runs had sent."""


class DeliveryListener:
    """Receives the events of a delivery; does nothing by default."""

    def starts(self, *, total_bytes: int, total_records: int | None) -> None:
        """All checks are passed; 0 bytes where the source cannot know."""

    def measures(self) -> None:
        """Every record is read to see that it fits, and there are so many that it takes a while."""

    def reads_back(self) -> None:
        """An earlier run did not end in order: the topic is searched for its records."""

    def progressed(self, progress: DeliveryProgress) -> None:
        """Called about once a second."""

    def refresh_failed(self, error: Exception) -> None:
        """The cluster could not be read; records go by the last view. Called by another thread."""

    def topic_unseen(self, error: KafkabalError) -> None:
        """No broker could say whether the topic is still the same; sending continues."""
