"""``python -m rungs.cli``."""

import sys

from rungs.cli import main

if __name__ == "__main__":
    sys.exit(main())
