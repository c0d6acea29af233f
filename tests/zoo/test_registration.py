"""A saved model loads without custom_objects, whatever was imported first."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from attention_zoo.registration import MODULES

ROOT = Path(__file__).parents[2]
FOLDERS = {"layers": "attention_zoo.layers", "training": "attention_zoo.training"}


def _modules_with_serialisable_classes():
    for path in sorted(ROOT.glob("*/*.py")):
        package = {"zoo": "attention_zoo", **FOLDERS}.get(path.parent.name)
        if package is None:
            continue
        decorators = [
            ast.unparse(decorator)
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.ClassDef)
            for decorator in node.decorator_list
        ]
        if any("register_keras_serializable" in decorator for decorator in decorators):
            yield f"{package}.{path.stem}"


def test_every_module_with_a_serialisable_class_is_imported_with_keras():
    # those that the listed modules import need no place of their own
    code = (
        f"import sys, attention_zoo, keras\nfor m in {list(_modules_with_serialisable_classes())}:"
    )
    code += "\n    print(m, m in sys.modules)"
    lines = _run(code).splitlines()
    assert len(lines) >= len(MODULES)
    assert [line for line in lines if line.endswith("False")] == []


@pytest.mark.parametrize(
    "imports",
    [
        "import attention_zoo\nimport keras",
        "import keras\nimport attention_zoo",
        "from attention_zoo.layers import LuongCell\nimport keras",
        "from attention_zoo import list_models\nlist_models()\nimport keras",
    ],
)
def test_a_model_loads_after_any_order_of_imports(imports, saved_model_file):
    code = f"{imports}\nprint(keras.saving.load_model({str(saved_model_file)!r}).name)"
    assert _run(code).split()[-1] == "bahdanau_gru"


@pytest.fixture(scope="module")
def saved_model_file(tmp_path_factory):
    from attention_zoo import create_model
    from attention_zoo.training import MaskedCrossEntropy, TokenAccuracy

    model = create_model("bahdanau_gru", vocab_source=7, vocab_target=11, d_emb=3, units=5)
    model.compile("adam", loss=MaskedCrossEntropy(), metrics=[TokenAccuracy()])
    path = tmp_path_factory.mktemp("registration") / "model.keras"
    model.save(path)
    return path


def _run(code):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
