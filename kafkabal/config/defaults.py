"""Values that hold where neither a flag, nor the environment, nor a profile says otherwise."""

DEFAULT_PLAN_TOLERANCE = 0.09
"""Half the width of the bands that plans aim at, as a fraction of the fair load."""
DEFAULT_CHECK_TOLERANCE = 0.10
"""Half the width of the bands that a cluster is judged by: a little wider, so that what a plan reached stays balanced
while data is written."""
DEFAULT_LOG_DIR_LIMIT = 0.85
"""Fraction of a volume that is never exceeded: a log dir whose disk is full goes offline, and retention, which deletes
whole segments, may lag behind producers by hours."""

DEFAULT_POLICY = "score"
"""Routes records where nothing else is asked for."""
DEFAULT_ROUTED_SCORES = ("disk",)
"""What records are routed by where no score is named: a full disk stops a broker, and every record fills disks."""
DEFAULT_REFRESH_S = 5.0
"""Seconds between two readings for routing: disks and rates of brokers change over minutes, and a reading of 200,000
partitions takes a second or two."""
LEAST_REFRESH_S = 0.1
"""A view takes some milliseconds to make: more often it would take processor time from sending."""
MOST_REFRESH_S = 86_400.0
"""A day: what is meant to be never is a mistake or another option."""
REFRESHES_TO_FORGET = 6
"""Readings after which a produce latency is forgotten, half a minute by default: a broker that is sent little is
measured rarely, and one that died must not look fast for long."""

ANSWER_S = 15.0
"""Seconds for which a question about a topic is put again while a leader or the controller is replaced: longer than an
election, shorter than an operator's patience."""
FENCED_AFTER_S = 30.0
"""Seconds without a response after which a broker is dead: by then Kafka has fenced one that was killed, which takes it
broker.session.timeout.ms (9 s by default, 18 s with ZooKeeper)."""
DEFAULT_DEAD_AFTER_S = 600.0
"""Seconds that a broker has to be dead before ``rebalance`` copies its replicas: longer than a process takes to
restart. An operator, or a cron job, asked for it and waits, so not much longer."""
DEFAULT_HEAL_DEAD_AFTER_S = 1800.0
"""The same for ``watch --heal all``, which acts at any hour without being asked: longer than a machine takes to reboot,
and time for an operator, since copies of a whole broker are dear and of no use once it is back."""
