"""`python -m attention_zoo` is `attention-zoo`."""

import sys

from attention_zoo.cli import main

sys.exit(main())
