"""Notifications in the form of each receiver, of a watch and of a run."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, HTTPServer
from time import monotonic, sleep, time
from typing import Any

import pytest

from kafkabal.errors import BusyError, DriftError, FindingsError, KafkabalError, UsageError
from kafkabal.executor import Event, Finished, Goal, RunOutcome, Started, Warned
from kafkabal.reporting.notifications.notifier import Notification, NotificationForm, Notifier, body_of, form_of
from kafkabal.reporting.notifications.run_notifications import RunNotifications
from kafkabal.reporting.notifications.watch_notifications import notification_of
from kafkabal.watch import EventKind, WatchEvent

AT = "2026-01-01T00:00:00Z"


class Receiver:
    """A web server that keeps what is posted to it, and answers with ``statuses``, then with ``status``."""

    def __init__(self) -> None:
        self.bodies: list[Any] = []
        self.status = 200
        self.statuses: list[int] = []
        self.retry_after: Callable[[], str] = str
        self.posted_s: list[float] = []
        self.may_answer = threading.Event()
        self.may_answer.set()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.bodies.append(json.loads(body))
                receiver.posted_s.append(monotonic())
                receiver.may_answer.wait()
                self.send_response(receiver.statuses.pop(0) if receiver.statuses else receiver.status)
                if pause := receiver.retry_after():
                    self.send_header("Retry-After", pause)
                self.end_headers()

            def log_message(self, *words: Any) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """One that listens."""
    found = Receiver()
    thread = threading.Thread(target=found.server.serve_forever)
    thread.start()
    yield found
    found.server.shutdown()
    thread.join()
    found.server.server_close()


@pytest.mark.parametrize(
    ("url", "form"),
    [
        ("http://am:9093/api/v2/alerts", NotificationForm.ALERTMANAGER),
        ("https://hooks.slack.com/services/x", NotificationForm.SLACK),
        ("https://example.org/hook", NotificationForm.WEBHOOK),
    ],
)
def test_the_address_names_the_form(url: str, form: NotificationForm) -> None:
    """The form of a notification follows from the host or the path of its URL."""
    assert form_of(url) is form


@pytest.mark.parametrize(
    "url", ["ftp://x", "x", "http://", "http://a b:x", "http://a..b/", f"http://{'a' * 64}/", "http://a:65536/"]
)
def test_invalid_addresses_are_refused(url: str) -> None:
    """What is no HTTP URL, or has an impossible host or port, is refused."""
    with pytest.raises(UsageError, match="invalid URL"):
        form_of(url)


def test_an_alert_begins_and_ends() -> None:
    """Alertmanager gets the alerts that an event begins, and those that it resolves; no alert, no post."""
    dead = WatchEvent(at=AT, event=EventKind.BROKER_DEAD, message="broker 3 is dead", broker=3)
    back = WatchEvent(at=AT, event=EventKind.BROKER_BACK, message="broker 3 is back", broker=3)
    healing = WatchEvent(at=AT, event=EventKind.HEALING, message="moving", run_id="r")
    form = NotificationForm.ALERTMANAGER

    alert, *replaced = body_of(notification_of(dead), "prod", form)
    assert alert["labels"] == {"alertname": "kafkabal-broker-dead", "cluster": "prod", "broker": "3"}
    assert "endsAt" not in alert
    # or two alerts of one broker would fire until it is back
    assert {(each["labels"]["alertname"], each["endsAt"]) for each in replaced} == {
        ("kafkabal-broker-slow", AT),
        ("kafkabal-broker-unreachable", AT),
    }
    over = body_of(notification_of(back), "prod", form)
    assert {each["labels"]["alertname"] for each in over} >= {"kafkabal-broker-dead"}
    assert all(each["endsAt"] == AT for each in over)
    assert body_of(notification_of(healing), "prod", form) is None


def test_unusable_proxies_are_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that cannot be made is warned of in one line, and the thread that posts shows no traceback."""
    monkeypatch.setenv("HTTP_PROXY", "foo://x")
    warnings: list[str] = []
    notifier = Notifier("http://127.0.0.1:1/hook", "prod", warnings.append)
    notifier.post(notification_of(WatchEvent(at=AT, event=EventKind.BROKER_DEAD, message="dead", broker=3)))
    notifier.close()

    (warning,) = warnings
    assert warning.startswith("notifications to http://127.0.0.1:1 fail: HTTP requests are impossible: ")


def test_firing_alerts_are_repeated_until_resolved(receiver: Receiver) -> None:
    """Alertmanager resolves what it does not hear of; an event of something else starves no alert of its repetition."""
    url = receiver.url.replace("/hook", "/api/v2/alerts")
    notifier = Notifier(url, "prod", print, repeat_s=0.05)
    dead = WatchEvent(at=AT, event=EventKind.BROKER_DEAD, message="broker 3 is dead", broker=3)
    notifier.post(notification_of(dead))
    _until(lambda: len(receiver.bodies) >= 3)
    notifier.post(notification_of(WatchEvent(at=AT, event=EventKind.HEALING, message="moving", run_id="r")))
    notifier.post(notification_of(WatchEvent(at=AT, event=EventKind.BROKER_BACK, message="back", broker=3)))
    notifier.close()

    names = [[(a["labels"]["alertname"], "endsAt" in a) for a in body] for body in receiver.bodies]
    assert names[0][0] == ("kafkabal-broker-dead", False)
    assert names[1:3] == [[("kafkabal-broker-dead", False)]] * 2
    assert ("kafkabal-broker-dead", True) in names[-1]
    assert sum(("kafkabal-broker-dead", True) in body for body in names) == 1


@pytest.mark.parametrize("ahead_s", [3600.0, -3600.0])
def test_times_are_by_the_clock_of_the_receiver(receiver: Receiver, ahead_s: float) -> None:
    """Alertmanager rejects an alert that begins five minutes ahead of its own clock, and keeps one that ends later."""
    url = receiver.url.replace("/hook", "/api/v2/alerts")
    now_s = time() + ahead_s
    notifier = Notifier(url, "prod", print, repeat_s=0.01, wall_clock=lambda: time() + ahead_s)
    at = datetime.fromtimestamp(now_s, UTC).isoformat()
    notifier.post(notification_of(WatchEvent(at=at, event=EventKind.IMBALANCED, message="")))
    _until(lambda: len(receiver.bodies) >= 2)
    notifier.post(notification_of(WatchEvent(at=at, event=EventKind.BALANCED, message="")))
    notifier.close()

    first, *later = [body[0] for body in receiver.bodies]
    assert first["startsAt"] == at
    ends = [each[key] for each in later for key in ("startsAt", "endsAt") if key in each]
    assert all(abs(datetime.fromisoformat(each).timestamp() - (now_s - ahead_s)) < 60.0 for each in ends)
    assert "endsAt" in later[-1]


def test_an_alert_goes_on_when_the_clock_is_set_back(receiver: Receiver) -> None:
    """It would begin in the future, which Alertmanager rejects, and takes the alert for resolved."""
    url = receiver.url.replace("/hook", "/api/v2/alerts")
    notifier = Notifier(url, "prod", print, repeat_s=0.01)
    at_s = time() + 3600.0
    at = datetime.fromtimestamp(at_s, UTC).isoformat()
    notifier.post(notification_of(WatchEvent(at=at, event=EventKind.IMBALANCED, message="")))
    _until(lambda: len(receiver.bodies) >= 2)
    notifier.close()
    begins_s = [datetime.fromisoformat(alert["startsAt"]).timestamp() for body in receiver.bodies for alert in body]
    assert max(begins_s) < at_s - 1800.0


def test_however_many_alerts_begin_and_end_at_once_none_fires_for_ever(receiver: Receiver) -> None:
    """Alerts of many brokers, while the receiver takes its time: it gets the beginning or the end of each."""
    warnings: list[str] = []
    notifier = Notifier(receiver.url.replace("/hook", "/api/v2/alerts"), "prod", warnings.append)
    receiver.may_answer.clear()
    for kind in (EventKind.BROKER_DEAD, EventKind.BROKER_BACK):
        for broker in range(300):
            notifier.post(notification_of(WatchEvent(at=AT, event=kind, message="", broker=broker)))
    notifier.post(notification_of(WatchEvent(at=AT, event=EventKind.IMBALANCED, message="")))
    receiver.may_answer.set()
    notifier.close()

    last = {str(alert["labels"]): "endsAt" in alert for body in receiver.bodies for alert in body}
    firing = [labels for labels, is_over in last.items() if not is_over]
    assert firing == [str({"alertname": "kafkabal-imbalanced", "cluster": "prod"})]
    assert not warnings


def test_the_end_of_an_alert_that_was_not_delivered_is_posted_again(receiver: Receiver) -> None:
    """Like an alert that fires, until the receiver has taken it."""
    receiver.statuses = [200, 503]
    receiver.may_answer.clear()
    notifier = Notifier(receiver.url.replace("/hook", "/api/v2/alerts"), "prod", lambda _: None, repeat_s=0.01)
    notifier.post(notification_of(WatchEvent(at=AT, event=EventKind.IMBALANCED, message="")))
    _until(lambda: len(receiver.bodies) == 1)
    notifier.post(notification_of(WatchEvent(at=AT, event=EventKind.BALANCED, message="")))
    receiver.may_answer.set()
    _until(lambda: len(receiver.bodies) == 3)
    notifier.close()

    assert [["endsAt" in alert for alert in body] for body in receiver.bodies] == [[False], [True], [True]]


def test_a_message_is_posted_again_while_its_receiver_restarts(receiver: Receiver) -> None:
    """One that fails for now gets every message, in order; one that refuses a message gets it once."""
    receiver.statuses = [503, 429, 200, 404]
    warnings: list[str] = []
    notifier = Notifier(receiver.url, "prod", warnings.append, retry_after_s=(0.0, 0.0))
    for message in ("a", "b", "c"):
        notifier.post(Notification(at=AT, event="x", message=message))
    _until(lambda: len(receiver.bodies) == 5)
    notifier.close()

    assert [body["message"] for body in receiver.bodies] == ["a", "a", "a", "b", "c"]
    assert len(warnings) == 2


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("path", ["/hook", "/api/v2/alerts"])
@pytest.mark.parametrize("after_s", [None, 2])
def test_a_receiver_that_names_a_pause_gets_it(receiver: Receiver, status: int, path: str, after_s: int | None) -> None:
    """Nothing is posted before the time in Retry-After, given in seconds or as a date."""
    receiver.statuses = [status]
    receiver.retry_after = lambda: "1" if after_s is None else formatdate(time() + after_s, usegmt=True)
    url = receiver.url.replace("/hook", path)
    notifier = Notifier(url, "prod", lambda _: None, repeat_s=0.1, retry_after_s=(0.0,))
    notifier.post(Notification(at=AT, event="x", message="a", begins=("x",)))
    _until(lambda: len(receiver.bodies) >= 2)
    notifier.close()

    assert receiver.posted_s[1] - receiver.posted_s[0] >= 0.99


@pytest.mark.parametrize("retry_after", ["soon", "-5", "9" * 400, "Wed, 99 Foo 2026 00:00:00 GMT", "nan"])
def test_a_pause_that_makes_no_sense_does_not_stop_notifications(receiver: Receiver, retry_after: str) -> None:
    """The message waits, and is posted at the latest at the end."""
    receiver.statuses, receiver.retry_after = [503], lambda: retry_after
    notifier = Notifier(receiver.url, "prod", lambda _: None, retry_after_s=(0.0,))
    notifier.post(Notification(at=AT, event="x", message="a"))
    _until(lambda: len(receiver.bodies) >= 1)
    notifier.post(Notification(at=AT, event="x", message="b"))
    notifier.close()

    assert receiver.bodies[-1]["message"] == "b"


def test_the_end_of_a_command_does_not_wait_for_a_receiver_that_fails(receiver: Receiver) -> None:
    """Each message that waits is posted once more, without a pause."""
    receiver.status = 503
    notifier = Notifier(receiver.url, "prod", lambda _: None, retry_after_s=(1e6,))
    notifier.post(Notification(at=AT, event="x", message="a"))
    notifier.post(Notification(at=AT, event="x", message="b"))
    notifier.close()

    assert [body["message"] for body in receiver.bodies] == ["a", "b"]


def test_a_run_that_failed_is_an_alert_for_a_day(receiver: Receiver) -> None:
    """Its command has ended and cannot post it again; the next run that completes resolves it."""
    for outcome in (RunOutcome.PARTIAL, RunOutcome.COMPLETE):
        url = receiver.url.replace("/hook", "/api/v2/alerts")
        with RunNotifications(Notifier(url, "prod", print), "rebalance", lambda: 0.0) as notifications:
            notifications.on_event(_finished(outcome))
    ((failed,), (over,)) = receiver.bodies
    assert failed["labels"] == over["labels"]
    assert (failed["startsAt"], failed["endsAt"]) == ("1970-01-01T00:00:00+00:00", "1970-01-02T00:00:00+00:00")
    assert over["endsAt"] == over["startsAt"]


def _until(holds: Callable[[], bool]) -> None:
    """Wait for a thread; a test that hangs is ended by its timeout."""
    while not holds():
        sleep(0.01)


def test_forms_of_people() -> None:
    """Slack gets a sentence, a webhook all fields."""
    notification = Notification(at=AT, event="run-started", message="run r started", run_id="r")
    assert body_of(notification, "prod", NotificationForm.SLACK) == {"text": "kafkabal prod: run r started"}
    assert body_of(notification, "prod", NotificationForm.WEBHOOK) == {
        "cluster": "prod",
        "at": AT,
        "event": "run-started",
        "message": "run r started",
        "broker": None,
        "log_dir": None,
        "run_id": "r",
    }


def test_notifications_of_a_run(receiver: Receiver) -> None:
    """Its start, its warnings, and its end."""
    warnings: list[str] = []
    with RunNotifications(Notifier(receiver.url, "prod", warnings.append), "rebalance", lambda: 0.0) as notifications:
        notifications.on_event(_started())
        notifications.on_event(Warned(message="one replica is out of sync"))
        notifications.on_event(_finished(RunOutcome.COMPLETE))
    assert [body["event"] for body in receiver.bodies] == ["run-started", "run-warning", "run-completed"]
    assert receiver.bodies[0]["message"] == "run r started: 2 partitions, 4.88 KiB"
    assert receiver.bodies[2]["message"] == "run r complete: 2 of 2 partitions, 4.88 KiB in 3 s"
    assert receiver.bodies[2]["run_id"] == "r"
    assert not warnings


def test_a_cancellation_announces_no_copies(receiver: Receiver) -> None:
    """It moves none of the bytes of its plan; nor does a resume that has only throttles to restore."""
    with RunNotifications(Notifier(receiver.url, "prod", print), "rebalance", lambda: 0.0) as notifications:
        notifications.on_event(_started(Goal.CANCEL))
        notifications.on_event(_started(partitions=0))
    assert [body["message"] for body in receiver.bodies] == [
        "run r started: cancelling its reassignments in flight",
        "run r started: nothing to move",
    ]


def test_a_message_that_is_no_text_is_posted(receiver: Receiver) -> None:
    """A file name that is not UTF-8, in the message of an error, does not end the thread that posts."""
    with RunNotifications(Notifier(receiver.url, "prod", print), "rebalance", lambda: 0.0) as notifications:
        notifications.on_event(Warned(message="plan-\udcff.json: cannot read"))
        notifications.on_event(Warned(message="one replica is out of sync"))
    messages = [body["message"] for body in receiver.bodies]
    assert messages == ["plan-\\xff.json: cannot read", "one replica is out of sync"]


def _run(receiver: Receiver, error: KafkabalError, *events: Event) -> None:
    """A command that reports events and ends with an error."""
    with RunNotifications(Notifier(receiver.url, "prod", print), "rebalance", lambda: 0.0) as notifications:
        for event in events:
            notifications.on_event(event)
        raise error


def test_a_refusal_is_posted_once(receiver: Receiver) -> None:
    """An error before a run has started is posted; one that only repeats how the run ended is not."""

    refusal = DriftError("the cluster has changed")
    with pytest.raises(DriftError):
        _run(receiver, refusal)
    with pytest.raises(DriftError):
        _run(receiver, refusal, _started(), _finished(RunOutcome.PARTIAL))
    assert [(body["event"], body["message"]) for body in receiver.bodies] == [
        ("run-failed", "rebalance: the cluster has changed"),
        ("run-started", "run r started: 2 partitions, 4.88 KiB"),
        ("run-failed", "run r partial: 2 of 2 partitions, 4.88 KiB in 3 s"),
    ]


def test_a_receiver_that_fails_is_warned_of_once(receiver: Receiver) -> None:
    """However many posts fail; posting continues."""
    receiver.status = 500
    warnings: list[str] = []
    notifier = Notifier(receiver.url, "prod", warnings.append)
    for number in range(3):
        notifier.post(Notification(at=AT, event="x", message=str(number)))
    notifier.close()
    assert len(receiver.bodies) == 3
    assert len(warnings) == 1
    assert "500" in warnings[0]


def _started(goal: Goal = Goal.APPLY, partitions: int = 2) -> Started:
    return Started(
        run_id="r",
        goal=goal,
        partitions=partitions,
        copy_bytes=2500 * partitions,
        log_dir_bytes=0,
        predicted_s=None,
        lock_scope="this cluster",
        throttle_bytes_per_s=None,
        log_dir_throttle_bytes_per_s=None,
        has_cluster_record=True,
    )


def _finished(outcome: RunOutcome) -> Finished:
    return Finished(
        run_id="r",
        outcome=outcome,
        done_partitions=2,
        total_partitions=2,
        done_bytes=5000,
        elapsed_s=3.0,
        problems={},
        pending=[],
    )


def test_a_failing_receiver_is_named_in_one_line_without_its_secret(receiver: Receiver) -> None:
    """Its status and host: the path and the password of a webhook do not belong in a log."""
    receiver.status = 500
    warnings: list[str] = []
    url = receiver.url.replace("http://", "http://alice:s3cret@").replace("/hook", "/services/T0/B0/s3cret")
    notifier = Notifier(url, "prod", warnings.append)
    notifier.post(Notification(at=AT, event="broker-dead", message="broker 3 is dead"))
    notifier.close()
    host = receiver.url.removesuffix("/hook")
    assert warnings == [f"notifications to {host} fail: HTTP status 500 Internal Server Error"]


def test_what_a_complete_run_could_not_repair_is_posted(receiver: Receiver) -> None:
    """The run completes, and its command ends with 3 since a broken partition is left: only that error tells so."""
    left = FindingsError("not repaired: no in-sync replica of t-0 is online")
    with pytest.raises(FindingsError):
        _run(receiver, left, _started(), _finished(RunOutcome.COMPLETE))
    assert [body["event"] for body in receiver.bodies] == ["run-started", "run-completed", "run-failed"]
    assert receiver.bodies[2]["message"] == "rebalance: not repaired: no in-sync replica of t-0 is online"


def test_a_command_that_finds_the_cluster_locked_posts_no_failure(receiver: Receiver) -> None:
    """It ends with 75, which cron counts as success; a run that loses the lock to another one is a failure."""
    for events in ((), (_started(),)):
        with pytest.raises(BusyError):
            _run(receiver, BusyError("cluster locked by another"), *events)
    assert [body["event"] for body in receiver.bodies] == ["run-started", "run-failed"]


def test_what_means_something_to_slack_is_shown_as_it_is() -> None:
    """A log dir or an error that contains ``<!channel>`` is neither taken for a mention nor for a link."""
    notification = Notification(at=AT, event="log-dir-offline", message='"/a&b/<!channel>" is offline')

    assert body_of(notification, "prod", NotificationForm.SLACK) == {
        "text": 'kafkabal prod: "/a&amp;b/&lt;!channel&gt;" is offline'
    }
    assert body_of(notification, "prod", NotificationForm.WEBHOOK)["message"] == notification.message
