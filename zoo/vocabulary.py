"""The ids that mean the same in every model and every exported file."""

PAD = 0
BOS = 1
EOS = 2
UNK = 3

FIRST_SYMBOL = 4
"""The first id that a task may give a meaning of its own."""
