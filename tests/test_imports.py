"""What may import what, read from the syntax tree of every file and tried in fresh processes."""

import ast
import json

import pytest

# package -> the packages of this project that it may import from, besides itself; the root's
# LAZY_PACKAGE holds what makes any package lazy and is everyone's
ALLOWED = {
    "attention_zoo.layers": set(),
    "attention_zoo": {"attention_zoo.layers"},
    "attention_zoo.training": {"attention_zoo.layers", "attention_zoo"},
    "attention_zoo.explain": {"attention_zoo.layers", "attention_zoo"},
    "attention_zoo.export": {"attention_zoo.layers", "attention_zoo"},
    "attention_zoo.saved_models": set(),
    "attention_zoo.__main__": {"attention_zoo.cli"},
    "attention_zoo.cli": {"attention_zoo", "attention_zoo.commands", "attention_zoo.export"},
    "attention_zoo.commands": {
        "attention_zoo",
        "attention_zoo.cli",
        "attention_zoo.layers",
        "attention_zoo.training",
        "attention_zoo.explain",
        "attention_zoo.export",
    },
}
LAZY_PACKAGE = "attention_zoo.lazy_package"
HEAVY = ("tensorflow", "keras", "matplotlib", "onnx", "onnxruntime", "ai_edge_litert", "rich")


def package_of(module):
    """The package of ALLOWED that a module belongs to: the longest name that fits."""
    fitting = [name for name in ALLOWED if module == name or module.startswith(name + ".")]
    return max(fitting, key=len, default=None)


def imported(module, path):
    """(line, name, depth) of everything that a file imports.

    Depth 0 is what runs with the import of the file; what stands in a function, or is for type
    checkers alone, is deeper.
    """
    is_package = path.name == "__init__.py"

    def visit(node, depth):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                for alias in child.names:
                    yield child.lineno, alias.name, depth
            elif isinstance(child, ast.ImportFrom):
                base = child.module or ""
                if child.level:
                    parts = module.split(".")
                    keep = len(parts) - child.level + is_package
                    base = ".".join([*parts[:keep], *([child.module] if child.module else [])])
                # `from attention_zoo import layers` imports a package by its name
                for alias in child.names:
                    name = f"{base}.{alias.name}"
                    yield child.lineno, name if name in ALLOWED else base, depth
            later = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) or (
                isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"
            )
            yield from visit(child, depth + later)

    return list(visit(ast.parse(path.read_text(encoding="utf-8")), 0))


def wrong_direction(module, path):
    """The imports of a file that go against ALLOWED, as `line: name`."""
    own = package_of(module)
    return [
        f"{path.name}:{line}: {module} must not import {name}"
        for line, name, _ in imported(module, path)
        if (package := package_of(name)) is not None
        and name != LAZY_PACKAGE
        and package not in ALLOWED[own] | {own}
    ]


def test_every_module_imports_in_the_allowed_direction(modules):
    wrong = [line for name, path in modules.items() for line in wrong_direction(name, path)]
    assert wrong == []


@pytest.mark.parametrize(
    ("module", "line", "refused"),
    [
        ("attention_zoo.layers.x", "from attention_zoo.registry import create_model", True),
        ("attention_zoo.layers.x", "from attention_zoo.layers.shapes import check_axes", False),
        ("attention_zoo.layers.x", "from attention_zoo.lazy_package import lazy_package", False),
        ("attention_zoo.x", "def f():\n    import attention_zoo.training.losses", True),
        ("attention_zoo.x", "from attention_zoo import export", True),
        ("attention_zoo.training.x", "from attention_zoo.export import export_model", True),
        ("attention_zoo.training.x", "from ..export.writer import write", True),
        ("attention_zoo.training.x", "from .losses import MaskedCrossEntropy", False),
        ("attention_zoo.export.x", "from attention_zoo import training", True),
        ("attention_zoo.export.x", "from attention_zoo.commands import demo", True),
        ("attention_zoo.commands.x", "from attention_zoo.training import CopyTask", False),
    ],
)
def test_the_check_of_directions_sees_each_way_to_write_an_import(tmp_path, module, line, refused):
    path = tmp_path / "x.py"
    path.write_text(line + "\n")
    assert bool(wrong_direction(module, path)) == refused


def test_training_explain_and_export_are_joined_only_inside_functions_of_commands(modules):
    joined = ("attention_zoo.training", "attention_zoo.explain", "attention_zoo.export")
    wrong = [
        f"{path.name}:{line}: {name}"
        for module, path in modules.items()
        if package_of(module) in ("attention_zoo.cli", "attention_zoo.commands")
        for line, name, depth in imported(module, path)
        if depth == 0 and package_of(name) in joined
    ]
    assert wrong == []


def test_only_the_run_time_checks_of_the_layers_import_tensorflow(modules):
    users = {
        module
        for module, path in modules.items()
        if module.startswith("attention_zoo.layers")
        for _, name, _ in imported(module, path)
        if name.split(".")[0] == "tensorflow"
    }
    assert users <= {"attention_zoo.layers.run_time_checks"}


def heavy_modules_after(run_python, statements):
    code = f"import sys, json\n{statements}\nprint(json.dumps(sorted(sys.modules)))"
    done = run_python(code)
    assert done.returncode == 0, done.stderr
    loaded = json.loads(done.stdout.splitlines()[-1])
    return [name for name in HEAVY if name in loaded]


@pytest.mark.parametrize(
    "package",
    [
        "attention_zoo",
        "attention_zoo.layers",
        "attention_zoo.training",
        "attention_zoo.export",
        "attention_zoo.saved_models",
        "attention_zoo.cli",
        "attention_zoo.layers.shapes",
        "attention_zoo.model_config",
        "attention_zoo.vocabulary",
    ],
)
def test_import_brings_nothing_heavy(run_python, package):
    assert heavy_modules_after(run_python, f"import {package}") == []


def test_lists_and_preset_folders_need_no_tensorflow(run_python):
    code = (
        "import attention_zoo as az; az.list_models('*gru*'); "
        "[az.preset_folder(name) for name in az.list_presets()]"
    )
    assert heavy_modules_after(run_python, code) == []


def test_the_runtime_needs_no_tensorflow(run_python):
    heavy = heavy_modules_after(run_python, "import attention_zoo.export.runtime")
    assert not {"tensorflow", "keras", "matplotlib", "rich"} & set(heavy)
