"""``python -m kafkabal``."""

import sys

from kafkabal.cli.entry_point import main

if __name__ == "__main__":
    sys.exit(main())
