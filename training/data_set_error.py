"""The error of data sets that cannot be had."""


class DataSetError(ValueError):
    """A data set that is unknown, cannot be downloaded, or holds no sentence pairs."""
