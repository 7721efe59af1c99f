"""All distributions, built and installed outside the checkout: they are complete and work, apart and together."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from releasing.distributions import Wheel, distributions, tracked

ROOT = Path(__file__).parents[1]
DISTRIBUTIONS = {"dtsemnet": ROOT, "dtsemnet_paper": ROOT / "workshop", "dtsemnet_check": ROOT / "checker"}

USE_PRODUCT = """
import importlib.util, sys
from pathlib import Path

assert Path(importlib.util.find_spec("dtsemnet").origin).is_relative_to(sys.argv[1])
import dtsemnet
from sklearn.datasets import load_iris
from dtsemnet.explorer import to_html
from dtsemnet.export import to_c
from dtsemnet.verify import Domain, reachable_leaves

X, y = load_iris(return_X_y=True)
# By torch: without the hook of the build, kernels are compiled at first use.
tree = dtsemnet.DTSemNetClassifier(max_depth=2, n_init=1, max_iter=2, engine="torch", random_state=0).fit(X, y)
tree.save("tree.json")
assert dtsemnet.DTSemNetClassifier.load("tree.json").tree_ == tree.tree_
to_html(tree.model_, "tree.html")
page = Path("tree.html").read_text("utf-8")
assert "<canvas" in page and "function" in page and "{" in page.partition("<style")[2]
assert "_predict" in to_c(tree.model_).text
assert reachable_leaves(tree.model_, Domain.from_data(X)).reachable
from dtsemnet.rl import TreePolicy
"""

COMMAND = """
from importlib.metadata import distribution

distribution("dtsemnet").entry_points["dtsemnet"].load()()
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source distribution of each."""
    folder = tmp_path_factory.mktemp("dist")
    for project in DISTRIBUTIONS.values():
        _build(project, folder, "sdist", "wheel")
    return folder


@pytest.fixture(scope="module")
def dependencies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages that are installed here, but for the two distributions, which lead back to the checkout."""
    folder = tmp_path_factory.mktemp("dependencies")
    for path in Path(sysconfig.get_paths()["purelib"]).iterdir():
        if not re.match(r"(_editable_impl_|__editable__)?dtsemnet|__pycache__", path.name) and path.suffix != ".pth":
            (folder / path.name).symlink_to(path)
    return folder


@pytest.fixture(scope="module")
def product(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _install(next(built.glob("dtsemnet-*.whl")), tmp_path_factory.mktemp("product"))


@pytest.fixture(scope="module")
def workshop(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _install(next(built.glob("dtsemnet_paper-*.whl")), tmp_path_factory.mktemp("workshop"))


def _build(project: Path, folder: Path, *targets: str) -> None:
    words = [word for target in targets for word in ("--target", target)]
    command = [sys.executable, "-m", "hatchling", "build", *words, "--directory", str(folder)]
    # Without the hook that compiles the kernels, which takes long; tests/kernels/test_native.py is about it.
    environment = os.environ | ({"HATCH_BUILD_NO_HOOKS": "true"} if (project / "compiling").is_dir() else {})
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr


def _install(wheel: Path, folder: Path) -> Path:
    words = ["install", "--quiet", "--no-deps", "--no-index", "--no-compile", "--disable-pip-version-check"]
    subprocess.run([sys.executable, "-m", "pip", *words, "--target", str(folder), str(wheel)], check=True, timeout=900)
    return folder


def _python(code: str, *words: str, paths: list[Path], folder: Path, code_of_exit: int = 0) -> str:
    """Run a program that sees these folders alone; ``-S`` leaves out the installed packages, editable ones too."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths)), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-S", "-c", code, *words]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", timeout=900)
    assert done.returncode == code_of_exit, done.stderr
    return done.stdout + done.stderr


def _tracked(folder: str) -> set[str]:
    """Files under version control, so that what a test left behind does not count."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    return tracked(folder)


def test_wheels_hold_every_file_of_their_packages(built: Path) -> None:
    assert _tracked("src")
    for distribution in distributions():
        if distribution.stem in DISTRIBUTIONS:
            wheel = Wheel(next(built.glob(f"{distribution.stem}-*.whl")))
            assert wheel.files() == distribution.wheel_files()


def test_source_distributions_are_complete(built: Path, tmp_path: Path) -> None:
    for name, project in DISTRIBUTIONS.items():
        with tarfile.open(next(built.glob(f"{name}-*.tar.gz"))) as archive:
            archive.extractall(tmp_path, filter="data")
        folder = next(tmp_path.glob(f"{name}-*"))
        tests = {Path(path).relative_to(project.relative_to(ROOT)) for path in _tracked(f"{project / 'tests'}")}
        assert tests or name == "dtsemnet_check"  # whose tests are those of the proofs
        assert all((folder / path).is_file() for path in tests)
        assert {"LICENSE", "README.md", "pyproject.toml"} <= {path.name for path in folder.iterdir()}
        again = tmp_path / f"wheel-{name}"
        _build(folder, again, "wheel")
        names = []
        for place in (built, again):
            with zipfile.ZipFile(next(place.glob(f"{name}-*.whl"))) as wheel:
                names.append(sorted(wheel.namelist()))
        assert names[0] == names[1], "a wheel from the source distribution is the wheel of the checkout"


def test_the_product_alone_fits_saves_exports_explores_and_has_policies(
    product: Path, dependencies: Path, tmp_path: Path
) -> None:
    _python(USE_PRODUCT, str(product), paths=[product, dependencies], folder=tmp_path)


def test_the_product_alone_has_its_verbs_and_says_where_the_others_are(
    product: Path, dependencies: Path, tmp_path: Path
) -> None:
    paths = [product, dependencies]
    assert "fit" in _python(COMMAND, "--help", paths=paths, folder=tmp_path)
    assert "--seed" in _python(COMMAND, "rl", "train", "--help", paths=paths, folder=tmp_path)
    assert "pip install dtsemnet-paper" in _python(
        COMMAND, "bench", "list", paths=paths, folder=tmp_path, code_of_exit=1
    )
    absent = "import importlib.util, sys; sys.exit(importlib.util.find_spec('dtsemnet_paper') is not None)"
    _python(absent, paths=paths, folder=tmp_path)


def test_both_together_add_the_verbs_of_the_workshop_with_its_tables(
    product: Path, workshop: Path, dependencies: Path, tmp_path: Path
) -> None:
    paths = [workshop, product, dependencies]
    assert "bench" in _python(COMMAND, "--help", paths=paths, folder=tmp_path)
    listed = _python(COMMAND, "bench", "list", paths=paths, folder=tmp_path)
    for path in (ROOT / "paper").glob("*.toml"):
        if "methods" in tomllib.loads(path.read_text("utf-8")):
            assert f"{path.stem} " in listed
    assert list(tmp_path.iterdir()) == []


def test_the_checker_needs_nothing_but_python(built: Path, tmp_path: Path) -> None:
    from dtsemnet import Topology, Tree
    from dtsemnet.verify import Domain, never

    checker = _install(next(built.glob("dtsemnet_check-*.whl")), tmp_path / "checker")
    tree = Tree(Topology.complete(1), [[1.0, 1.0]], [-5.0], [[1, 0], [0, 1]], class_names=["small", "large"])
    never(tree, Domain(0.0, 1.0), "large").save_proof(tmp_path / "proof.json")
    code = "import sys; from dtsemnet_check import main; sys.exit(main())"
    said = _python(code, str(tmp_path / "proof.json"), paths=[checker], folder=tmp_path)
    assert "proved: never" in said
    absent = "import importlib.util, sys; sys.exit(any(map(importlib.util.find_spec, ('numpy', 'dtsemnet'))))"
    _python(absent, paths=[checker], folder=tmp_path)


def test_all_distributions_have_one_version() -> None:
    import dtsemnet
    import dtsemnet_check
    import dtsemnet_paper

    assert dtsemnet.__version__ == dtsemnet_paper.__version__ == dtsemnet_check.__version__
