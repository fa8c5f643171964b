from .broker_advice import BrokerAdvice as BrokerAdvice
from .broker_advice import advise_brokers as advise_brokers
from .relief_advice import ReliefAdvice as ReliefAdvice
from .relief_advice import advise_relief as advise_relief
