"""The subcommands of `attention-zoo`, one module each, which join training and export."""

from attention_zoo.lazy_package import refuse_other_name

refuse_other_name(__name__)
