"""The tensorflow-datasets builder of tab-separated sentence pairs.

It has a folder of its own because tensorflow-datasets takes every file beside a builder for the
builder's. Importing it registers `tab_pairs/fr_en` and the other directions with `tfds.load`.
"""

from typing import TYPE_CHECKING

from attention_zoo.lazy_package import lazy_package

if TYPE_CHECKING:  # what type checkers and editors see; at run time NAMES decides
    from attention_zoo.training.tab_pairs.builder import TabPairs as TabPairs
    from attention_zoo.training.tab_pairs.builder import TabPairsConfig as TabPairsConfig

NAMES = {
    "TabPairs": "builder",
    "TabPairsConfig": "builder",
}

__getattr__, __dir__ = lazy_package(__name__, NAMES)
__all__ = list(NAMES)
