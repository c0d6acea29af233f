"""The line that stands under every picture and on every page of unchecked weights."""

WEIGHTS_NOT_REASONS = "weights, not reasons; run `attention-zoo explain --check`"
