"""Arrays by name from a file of NumPy's `savez`."""

from __future__ import annotations

import zipfile
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def read_arrays(path: str) -> dict[str, NDArray]:
    """The arrays of an .npz file.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is no .npz file, cut short, empty, or has an array of Python objects, which
            only code from the file itself could read.
    """
    import numpy as np

    make = f"Fix: write it with np.savez({path!r}, query=query, memory=memory)."
    try:
        content = np.load(path, allow_pickle=False)
    except FileNotFoundError:
        raise ValueError(f"{path}: there is no such file. {make}") from None
    except IsADirectoryError:
        raise ValueError(f"{path}: it is a folder; expected an .npz file. {make}") from None
    except (ValueError, EOFError, zipfile.BadZipFile):
        raise ValueError(f"{path}: it is no .npz file, or cut short. {make}") from None
    if not isinstance(content, np.lib.npyio.NpzFile):
        raise ValueError(f"{path}: it holds one array without a name; expected several. {make}")
    with content:
        arrays = {name: _array(path, name, content) for name in content.files}
    if not arrays:
        raise ValueError(f"{path}: it holds no array. {make}")
    return arrays


def _array(path: str, name: str, content: np.lib.npyio.NpzFile) -> NDArray:
    import numpy as np

    try:
        array = content[name]
    except (EOFError, OSError, zipfile.BadZipFile, zlib.error):
        raise ValueError(
            f"{path}: {name} is cut short or damaged. Fix: write the file again with np.savez."
        ) from None
    except ValueError as error:
        reason = "holds Python objects" if "pickle" in str(error) else "cannot be read"
        raise ValueError(
            f"{path}: {name} {reason}; expected an array of numbers. Fix: save "
            f'np.asarray({name}, "float32"), with rows of one length.'
        ) from None
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{path}: {name} is no array. Fix: write the file with np.savez.")
    return array
