"""`python -m bench`: see command.py.

Every process that a measurement starts imports this file again, so it imports nothing until it is run.
"""

import sys

if __name__ == "__main__":
    from bench.command import main

    sys.exit(main())
