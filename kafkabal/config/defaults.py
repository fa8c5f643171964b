"""Default values, for settings not given by flag, environment variable or profile."""

DEFAULT_PLAN_TOLERANCE = 0.09
"""Half the width of the bands that plans aim at, as a fraction of the fair load."""
DEFAULT_CHECK_TOLERANCE = 0.10
"""Half the width of the bands that a cluster is judged by: a little wider, so that it stays balanced after a plan while
clients write."""
DEFAULT_LOG_DIR_LIMIT = 0.85
"""Fraction of a volume that is never exceeded: a log dir goes offline when its disk is full, and retention, which
deletes whole segments, may lag behind producers by hours."""

DEFAULT_POLICY = "score"
"""Policy that routes records if none is given."""
DEFAULT_ROUTED_SCORES = ("disk",)
"""Scores that records are routed by if none is given: a full disk stops a broker, and every record fills disks."""
DEFAULT_REFRESH_S = 5.0
"""Seconds between two readings for routing: disk usage and rates change over minutes, and reading 200,000 partitions
takes a second or two."""
LEAST_REFRESH_S = 0.1
"""Building a view takes some milliseconds: refreshing more often would take processor time from sending."""
MOST_REFRESH_S = 86_400.0
"""A day: a longer interval is a mistake, or calls for another option."""
REFRESHES_TO_FORGET = 6
"""Readings after which a produce latency expires, half a minute by default: a broker that receives few records is
rarely measured, and a dead one must not look fast for long."""

ANSWER_S = 15.0
"""Seconds for which a request about a topic is retried while a leader or the controller is being replaced: longer than
an election, shorter than an operator is willing to wait."""
FENCED_AFTER_S = 30.0
"""Seconds without a response after which a broker counts as dead: by then Kafka has fenced a killed broker, after
broker.session.timeout.ms (9 s by default, 18 s with ZooKeeper)."""
DEFAULT_DEAD_AFTER_S = 600.0
"""Seconds that a broker must be dead before ``rebalance`` copies its replicas: longer than a process takes to restart,
but not much, since an operator or a cron job is waiting."""
DEFAULT_HEAL_DEAD_AFTER_S = 1800.0
"""The same for ``watch --heal all``, which acts at any hour without being asked: longer than a machine takes to reboot,
with time for an operator, since copying a whole broker is expensive and useless once it is back."""
