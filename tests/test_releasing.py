"""The checks of a release fail on what they are there for; `make release-check` runs them on the release itself."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from releasing import check
from releasing.check import CHECKS, Failed, Release, Skipped, main
from releasing.distributions import distributions, relative_links
from releasing.environments import find_interpreter

ROOT = Path(__file__).parents[1]
VERSION = "1.2.3"
IN_A_CHECKOUT = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a checkout")
PROJECT = """
[build-system]
requires = ["hatchling"]
[project]
name = "{name}"
dependencies = ["numpy>=1.26,<3"]
optional-dependencies = {{ data = ["pandas>=2.1"] }}
[tool.hatch.version]
path = "{module}/__init__.py"
[tool.hatch.build.targets.wheel]
packages = ["{module}"]
"""


@pytest.fixture
def release(tmp_path: Path) -> Release:
    """A checkout of two small distributions, ready to be released."""
    for folder, name, module in ((tmp_path, "one", "one"), (tmp_path / "more", "the-other", "the_other")):
        (folder / module).mkdir(parents=True)
        (folder / module / "__init__.py").write_text(f'"""A package."""\n\n__version__ = "{VERSION}"\n')
        (folder / "pyproject.toml").write_text(PROJECT.format(name=name, module=module))
        _wheel(folder / module, tmp_path / "dist")
    (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n## [Unreleased]\n\n## [{VERSION}] - 2030-01-31\n")
    (tmp_path / "CITATION.cff").write_text(f"type: software\nversion: {VERSION}\n")
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a", "commit", "-qm", "all"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    return Release(tmp_path)


def _wheel(package: Path, folder: Path, *more: str) -> None:
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / f"{package.name}-{VERSION}-py3-none-any.whl", "w") as archive:
        archive.write(package / "__init__.py", f"{package.name}/__init__.py")
        archive.writestr(f"{package.name}-{VERSION}.dist-info/METADATA", "Name: one\n\nA page, [a](b.md).\n")
        for name in more:
            archive.writestr(name, "")


@IN_A_CHECKOUT
def test_all_distributions_of_this_checkout_are_found() -> None:
    assert {found.name for found in distributions()} == {"dtsemnet", "dtsemnet-paper", "dtsemnet-check"}
    for found in distributions():
        assert found.wheel_files()
        assert re.fullmatch(r"\d+\.\d+\.\d+.*", found.version)


def test_one_version_everywhere_passes(release: Release) -> None:
    assert VERSION in CHECKS["versions"](release)
    assert "2030-01-31" in CHECKS["versions"](release)


@pytest.mark.parametrize(
    ("file", "before", "after", "message"),
    [
        ("more/the_other/__init__.py", VERSION, "1.2.4", "the-other is 1.2.4"),
        ("CHANGELOG.md", f"[{VERSION}]", "[1.2.2]", "CHANGELOG"),
        ("CHANGELOG.md", " - 2030-01-31", "", "CHANGELOG"),
        ("CITATION.cff", VERSION, "1.2.2", "CITATION"),
        ("one/__init__.py", VERSION, "1.2.4.dev0", "no version that can be released"),
    ],
)
def test_a_version_that_differs_somewhere_is_refused(
    release: Release, file: str, before: str, after: str, message: str
) -> None:
    path = release.root / file
    path.write_text(path.read_text().replace(before, after))
    with pytest.raises(Failed, match=message):
        CHECKS["versions"](release)


def test_a_change_that_is_not_committed_is_refused(release: Release) -> None:
    CHECKS["committed"](release)
    (release.root / "CHANGELOG.md").write_text("")
    with pytest.raises(Failed, match="CHANGELOG"):
        CHECKS["committed"](release)


def test_wheels_with_too_little_or_too_much_are_refused(release: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "sdist_files", lambda path: {"LICENSE", "README.md", "pyproject.toml", "PKG-INFO"})
    for name in ("one", "the_other"):
        (release.dist / f"{name}-{VERSION}.tar.gz").touch()
    assert "one 1 files" in CHECKS["contents"](release)
    _wheel(release.root / "one", release.dist, "one/secret.env")
    with pytest.raises(Failed, match=r"one/secret\.env does not belong"):
        CHECKS["contents"](release)
    (release.root / "one" / "new.py").touch()
    subprocess.run(["git", "add", "."], cwd=release.root, check=True)
    with pytest.raises(Failed, match=r"one/new\.py is missing"):
        CHECKS["contents"](release)
    (release.dist / f"one-{VERSION}.tar.gz").unlink()
    with pytest.raises(Failed, match=r"0 files one-1\.2\.3"):
        CHECKS["contents"](release)


def test_links_that_work_in_a_checkout_alone_are_found() -> None:
    page = "[a](https://b.org) ![c](docs/c.png) [d](#e) [f](../g.md#h)"
    assert relative_links(page) == ["docs/c.png", "../g.md#h"]


@IN_A_CHECKOUT
@pytest.mark.parametrize("project", ["README.md", "workshop/README.md", "checker/README.md"])
def test_pages_on_the_package_index_have_absolute_links(project: str) -> None:
    """The rules of ``pyproject.toml``, applied here as the build applies them."""
    import tomllib

    folder = (ROOT / project).parent
    rules = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["metadata"]["hooks"]
    page = (ROOT / project).read_text("utf-8")
    for rule in rules["fancy-pypi-readme"]["substitutions"]:
        page = re.sub(rule["pattern"], rule["replacement"].replace("$HFPR_VERSION", VERSION), page)
    assert relative_links(page) == []
    assert not re.search(r"blob/v[^)]*\.png\)", page), "a picture must be the file itself, not a page about it"


def test_oldest_versions_are_the_lower_bounds(release: Release) -> None:
    (first, *_) = release.distributions
    assert check._bounds_that_differ(first, "numpy==1.26.4\npandas==2.1.0\n") == []
    assert check._bounds_that_differ(first, "numpy==1.25.0\n") == ["numpy is pinned to 1.25.0, the bound is 1.26"]
    assert check._bounds_that_differ(first, "pandas==2.1.0\n") == ["numpy is not pinned"]
    ours = distributions()[0]
    assert check._bounds_that_differ(ours, (ROOT / "releasing" / "oldest.txt").read_text("utf-8")) == []


def test_every_check_runs_though_one_fails_and_the_exit_code_says_so(
    release: Release, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def skipped(release: Release) -> str:
        raise Skipped("there is no Python 9.9 on this machine")

    def broken(release: Release) -> str:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(check, "CHECKS", {"versions": CHECKS["versions"], "odd": broken, "python-9.9": skipped})
    assert main([], release) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:3]] == ["ok", "FAIL", "skip"]
    assert lines[-1] == "1 ok, 1 skipped, 1 failed: no release"
    assert main(["versions", "python-9.9"], release) == 0


def test_interpreters_are_found_by_their_version() -> None:
    here = f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert find_interpreter(here) == Path(sys.executable)
    assert find_interpreter("1.5") is None


class _Python:
    """An environment whose Python answers as told."""

    folder = Path()

    def __init__(self, code: int, answer: str) -> None:
        self.done = subprocess.CompletedProcess([], code, answer)

    def python(self, *words: object, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
        return self.done


def test_compiled_kernels_that_do_not_load_are_no_release() -> None:
    wheel = Path("dtsemnet-1.2.3-cp311-abi3-linux_x86_64.whl")
    named = _Python(0, "dtsemnet.kernels._native3\n")
    assert check._kernels(named, wheel) == "compiled kernels _native3"  # type: ignore[arg-type]
    broken = _Python(1, "AttributeError: 'NoneType' object has no attribute '__name__'")
    with pytest.raises(Failed, match="do not load"):
        check._kernels(broken, wheel)  # type: ignore[arg-type]
    assert check._kernels(broken, Path("dtsemnet-1.2.3-py3-none-any.whl")) == "no compiled kernels"  # type: ignore[arg-type]
