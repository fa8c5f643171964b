from .check_result import CheckResult as CheckResult
from .check_result import CheckStatus as CheckStatus
from .cluster_checks import check_back_end as check_back_end
from .cluster_checks import check_kafka as check_kafka
from .host_checks import check_extras as check_extras
from .host_checks import check_folders as check_folders
from .permissions_by_step import STEPS as STEPS
from .purpose import Purpose as Purpose
