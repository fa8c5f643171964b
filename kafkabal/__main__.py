"""``python -m kafkabal``."""

import sys

from kafkabal.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
