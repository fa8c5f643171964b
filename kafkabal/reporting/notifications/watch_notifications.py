"""Notifications of a watch's events."""

from __future__ import annotations

from dataclasses import replace

from kafkabal.reporting.notifications.notifier import Notification, Notifier
from kafkabal.watch import ENDS, NO_ALERTS, REPLACES, WatchEvent


class WatchNotifications:
    """A listener that posts every event."""

    def __init__(self, notifier: Notifier) -> None:
        self._notifier = notifier

    def on_event(self, event: WatchEvent) -> None:
        """Post the event."""
        self._notifier.post(notification_of(event))

    def update(self, event: WatchEvent) -> None:
        """Bring the text of the alert of an earlier event up to date."""
        self._notifier.post(replace(notification_of(event), is_update=True))


def notification_of(event: WatchEvent) -> Notification:
    """The notification of an event, with the alerts that it starts or resolves."""
    ends = ENDS.get(event.event, ())
    return Notification(
        at=event.at,
        event=event.event,
        message=event.message,
        broker=event.broker,
        log_dir=event.log_dir,
        run_id=event.run_id,
        begins=() if ends or event.event in NO_ALERTS else (event.event,),
        ends=ends or REPLACES.get(event.event, ()),
    )
