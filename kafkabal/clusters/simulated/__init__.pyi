from .cluster import InMemoryCluster as InMemoryCluster
from .fake_clock import FakeClock as FakeClock
from .fault_injection import Call as Call
from .fault_injection import FaultyCluster as FaultyCluster
from .simulated_kafka import SimulatedKafka as SimulatedKafka
