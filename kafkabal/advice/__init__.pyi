from .broker_advice import BrokerAdvice as BrokerAdvice
from .broker_advice import advise_brokers as advise_brokers
from .disk_relief import Relief as Relief
from .disk_relief import ReliefKind as ReliefKind
from .disk_relief import relief_of as relief_of
from .full_disk_advice import ReliefAdvice as ReliefAdvice
from .full_disk_advice import advise_relief as advise_relief
