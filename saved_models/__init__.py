"""Data only: one folder a preset, with weights, exported files, manifest and model card."""

from attention_zoo.lazy_package import refuse_other_name

refuse_other_name(__name__)
