"""What must hold before a release, checked in one run: ``make release-check``.

Each check is a function that returns one line saying what it saw, or raises: ``Failed`` with what is wrong, ``Skipped``
with what this machine lacks. All of them run, whatever fails; the exit code says whether a release may be made.

    python -m releasing.check                     # all checks
    python -m releasing.check versions contents   # some of them

The files are built once, from the source distributions, and are the files that would be uploaded (``dist/``). Tests run
outside the checkout, on the tests of the source distribution, against the wheel. Environments lie in ``build/release``.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import tarfile
import textwrap
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from pathlib import Path

from releasing.distributions import ROOT, Distribution, Wheel, distributions, relative_links, sdist_files, tracked
from releasing.environments import Environment, find_interpreter, run

__all__ = ["CHECKS", "Failed", "Release", "Skipped", "main"]

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
"""Versions of Python that the tests run on, where there is an interpreter."""

PARTS = (
    "tree", "golden", "export/milp", "export/readable", "estimators/test_bad_calls.py",
    "estimators/test_persistence.py", "test_files.py", "test_folders.py", "test_json_lines.py", "test_names.py",
)  # fmt: skip
"""Tests that run against the wheel on every version: what differs between versions of packages, and is fast.
``--parts`` takes others (``estimators export``); the whole suite is the business of ``make test``."""

IMPORTS = {"import dtsemnet": 0.25, "from dtsemnet import Tree": 0.8, "from dtsemnet import DTSemNetClassifier": 2.0}
"""Most CPU time that an import may take, as a share of that of numpy and scikit-learn."""
YARDSTICK = "import numpy, sklearn.tree"
REPEATS = 5

FREE_LICENCES = re.compile(
    r"\b(MIT|MIT-0|CMU|BSD|0BSD|Apache|PSF|Python Software Foundation|ISC|Zlib|MPL|Mozilla|HPND|Unlicense|CC0|BSL)\b",
    re.I,
)
"""Licences under which a dependency may be used beside ours without conditions on our users' code."""


class Failed(Exception):
    """What is wrong."""


class Skipped(Exception):
    """What this machine lacks for a check."""


@dataclass
class Release:
    """The release that is checked, and what the checks share."""

    root: Path = ROOT
    parts: Sequence[str] = PARTS

    @cached_property
    def distributions(self) -> list[Distribution]:
        """All distributions of the checkout."""
        return distributions(self.root)

    @property
    def version(self) -> str:
        """Version of the first distribution, which the others must have too."""
        return self.distributions[0].version

    @property
    def dist(self) -> Path:
        """Folder of the files that would be uploaded."""
        return self.root / "dist"

    @property
    def scratch(self) -> Path:
        """Folder of environments and unpacked archives."""
        return self.root / "build" / "release"

    def wheel(self, distribution: Distribution) -> Wheel:
        """The wheel of a distribution; build it first."""
        return Wheel(self._built(distribution, ".whl"))

    def sdist(self, distribution: Distribution) -> Path:
        """The source distribution; build it first."""
        return self._built(distribution, ".tar.gz")

    def _built(self, distribution: Distribution, ending: str) -> Path:
        found = sorted(self.dist.glob(f"{distribution.stem}-{distribution.version}*{ending}"))
        if len(found) != 1:
            raise Failed(
                f"dist/ holds {len(found)} files {distribution.stem}-{distribution.version}*{ending}; run: build"
            )
        return found[0]

    @cached_property
    def sources(self) -> Path:
        """The source distribution of the first distribution, unpacked."""
        shutil.rmtree(self.scratch / "sources", ignore_errors=True)
        with tarfile.open(self.sdist(self.distributions[0])) as archive:
            archive.extractall(self.scratch / "sources", filter="data")
        (folder,) = (self.scratch / "sources").iterdir()
        return folder

    @cached_property
    def plain(self) -> Environment:
        """An environment that holds the wheel of the first distribution and what it depends on, nothing else."""
        environment = Environment.make(self.scratch / "plain", Path(sys.executable))
        environment.install(self.wheel(self.distributions[0]).path)
        return environment


def check_versions(release: Release) -> str:
    """All distributions, the changelog and the citation state one version, which is no development version."""
    version, wrong = release.version, []
    wrong += [f"{other.name} is {other.version}" for other in release.distributions if other.version != version]
    if not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", version):
        wrong.append("it is no version that can be released; set __version__ in every distribution")
    changelog = (release.root / "CHANGELOG.md").read_text("utf-8")
    found = re.search(rf"^## \[{re.escape(version)}\] - (\d{{4}}-\d\d-\d\d)$", changelog, re.MULTILINE)
    if found is None:
        wrong.append(f"CHANGELOG.md has no line '## [{version}] - YEAR-MONTH-DAY'")
    if f"\nversion: {version}\n" not in (release.root / "CITATION.cff").read_text("utf-8"):
        wrong.append(f"CITATION.cff has no line 'version: {version}'")
    if wrong or found is None:
        raise Failed(f"the version is {version}, but {'; '.join(wrong)}")
    return (
        f"{version} in {_counted(release.distributions, 'distribution')}, the citation and the changelog of {found[1]}"
    )


def check_committed(release: Release) -> str:
    """Nothing in the checkout waits to be committed: what is built is what the tag will name."""
    done = run(["git", "status", "--porcelain", "--untracked-files=no"], folder=release.root)
    if done.stdout.strip():
        raise Failed(f"these changes are not committed:\n{done.stdout.rstrip()}")
    return run(["git", "describe", "--always", "--tags"], folder=release.root).stdout.strip()


def check_build(release: Release) -> str:
    """Every distribution builds: the source distribution from the checkout, the wheel from the source distribution."""
    shutil.rmtree(release.dist, ignore_errors=True)
    for distribution in release.distributions:
        done = run([sys.executable, "-m", "build", "--outdir", release.dist, distribution.folder])
        if done.returncode:
            raise Failed(f"{distribution.name} does not build:\n{done.stdout[-3000:]}")
    return ", ".join(f"{path.name} ({path.stat().st_size / 1e3:,.0f} kB)" for path in sorted(release.dist.iterdir()))


def check_contents(release: Release) -> str:
    """Wheels hold the files of their packages and no others; source distributions hold tests and what builds need."""
    wrong, seen = [], []
    for distribution in release.distributions:
        held, expected = release.wheel(distribution).files(), distribution.wheel_files(release.root)
        wrong += [f"{distribution.name}: {name} is missing in the wheel" for name in sorted(expected - held)]
        wrong += [f"{distribution.name}: {name} does not belong into the wheel" for name in sorted(held - expected)]
        folder = distribution.folder.relative_to(release.root).as_posix()
        tests = tracked("tests" if folder == "." else f"{folder}/tests", release.root)
        needed = {name if folder == "." else name.removeprefix(f"{folder}/") for name in tests}
        absent = (needed | {"LICENSE", "README.md", "pyproject.toml", "PKG-INFO"}) - sdist_files(
            release.sdist(distribution)
        )
        wrong += [f"{distribution.name}: {name} is missing in the source distribution" for name in sorted(absent)]
        seen.append(f"{distribution.name} {len(held)} files, {len(needed)} of tests")
    if wrong:
        raise Failed("\n".join(wrong))
    return "; ".join(seen)


def check_metadata(release: Release) -> str:
    """Metadata is complete, the package index will show the page, and no link of it is relative."""
    files = sorted(release.dist.iterdir())
    done = run([sys.executable, "-m", "twine", "check", "--strict", *files])
    wrong = [] if done.returncode == 0 else [done.stdout.strip()]
    for distribution in release.distributions:
        wheel, name = release.wheel(distribution), distribution.name
        facts = wheel.metadata()
        wrong += [f"{name} states no {field}" for field in _FIELDS if not facts.get_all(field)]
        wrong += [] if wheel.has_licence() else [f"{name}: the wheel has no text of the licence"]
        page = str(facts.get_payload())
        wrong += [f"{name}: the link {link!r} of the page is relative" for link in relative_links(page)]
        wrong += [] if len(page) > 200 else [f"{name}: the page is empty"]
    if wrong:
        raise Failed("\n".join(wrong))
    return f"{len(files)} files pass twine, all links of their pages are absolute"


_FIELDS = ("Summary", "License-Expression", "Project-URL", "Requires-Python", "Classifier", "Keywords", "Author")


def check_install(release: Release) -> str:
    """The wheel works in an environment of its own, and the install lines of the documents work beside it."""
    python, version = release.plain.python, release.version
    shown = python("-m", "dtsemnet", "--version", folder=release.scratch)
    if shown.returncode or shown.stdout.strip() != version:
        raise Failed(f"dtsemnet --version printed {shown.stdout.strip()!r}, not {version}")
    fitted = python("-m", "dtsemnet", "fit", "--out", "tree.json", "--force", folder=release.scratch)
    if fitted.returncode:
        raise Failed(f"dtsemnet fit, on the table that comes with it, failed:\n{fitted.stdout[-2000:]}")
    extras = [
        name
        for name in release.distributions[0].settings["project"]["optional-dependencies"]
        if name not in ("dev", "docs", "test")
    ]
    for extra in extras:  # read from the installed metadata, so it works before the package is on an index, too
        done = python("-m", "pip", "install", "--dry-run", "--no-deps", "--quiet", f"dtsemnet[{extra}]")
        if done.returncode:
            raise Failed(f"pip install 'dtsemnet[{extra}]' does not work beside the wheel:\n{done.stdout[-2000:]}")
    return f"dtsemnet {version} fits a tree, extras {', '.join(extras)} are known"


def check_imports(release: Release) -> str:
    """Imports take no more CPU time than a stated share of that of numpy and scikit-learn, in one interleaved run."""
    statements = [YARDSTICK, *IMPORTS]
    seconds: dict[str, list[float]] = {statement: [] for statement in statements}
    for repeat in range(REPEATS + 1):
        for statement in statements:
            before = os.times()
            done = release.plain.python("-c", statement, folder=release.scratch)
            if done.returncode:
                raise Failed(f"{statement}: {done.stdout[-1000:]}")
            after = os.times()
            used = after.children_user + after.children_system - before.children_user - before.children_system
            if repeat:  # the first one writes compiled files
                seconds[statement].append(used)
    base = min(seconds[YARDSTICK])
    shares = {statement: min(seconds[statement]) / base for statement in IMPORTS}
    line = ", ".join(f"{statement}: {share:.2f}" for statement, share in shares.items())
    slow = [
        f"{statement} takes {share:.2f}, at most {IMPORTS[statement]}"
        for statement, share in shares.items()
        if share > IMPORTS[statement]
    ]
    if slow:
        raise Failed(f"of the time of '{YARDSTICK}', {'; '.join(slow)}")
    return f"of the {base:.2f} s of '{YARDSTICK}': {line}"


_LICENCES = """
import re
from importlib import metadata
for found in sorted(metadata.distributions(), key=lambda found: found.name.lower()):
    facts = found.metadata
    words = [facts.get("License-Expression") or ""]
    words += [line.rpartition("::")[2] for line in facts.get_all("Classifier", []) if line.startswith("License ::")]
    words += [(facts.get("License") or "").strip().splitlines()[0][:80]] if (facts.get("License") or "").strip() else []
    print(found.name, " / ".join(word.strip() for word in words if word.strip()) or "none stated", sep="\\t")
"""


def check_licences(release: Release) -> str:
    """Every package that the wheel brings along states a licence that puts no conditions on our users' code."""
    done = release.plain.python("-c", _LICENCES)
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    others = [(name, licence) for name, licence in lines if name not in ("pip", "setuptools", "dtsemnet")]
    odd = [f"{name}: {licence}" for name, licence in others if not FREE_LICENCES.search(licence)]
    if odd or not others:
        raise Failed("look at the licences of:\n" + "\n".join(odd))
    return f"{_counted(others, 'package')}: " + "; ".join(
        f"{name} {licence.split(' / ')[0]}" for name, licence in others
    )


def _check_python(version: str) -> Callable[[Release], str]:
    def check(release: Release) -> str:
        interpreter = find_interpreter(version)
        if interpreter is None:
            raise Skipped(f"there is no Python {version} on this machine")
        return _run_tests(release, f"python-{version}", interpreter)

    check.__doc__ = f"Tests of the source distribution pass on Python {version}, with the newest dependencies."
    return check


def check_oldest(release: Release) -> str:
    """Tests pass with the oldest dependencies that are allowed, which are the lower bounds of ``pyproject.toml``."""
    constraints = release.root / "releasing" / "oldest.txt"
    wrong = _bounds_that_differ(release.distributions[0], constraints.read_text("utf-8"))
    if wrong:
        raise Failed("releasing/oldest.txt and the lower bounds of pyproject.toml differ: " + "; ".join(wrong))
    interpreter = find_interpreter(PYTHONS[0])
    if interpreter is None:
        raise Skipped(f"there is no Python {PYTHONS[0]} on this machine")
    return _run_tests(release, "oldest", interpreter, constraints)


def _bounds_that_differ(distribution: Distribution, constraints: str) -> list[str]:
    """Packages whose pinned oldest version is not the lower bound that the metadata states."""
    project = distribution.settings["project"]
    stated = [
        *project["dependencies"],
        *(line for extra in ("test", *_TESTED) for line in project["optional-dependencies"].get(extra, ())),
    ]
    lower = {found[1].lower(): found[2] for line in stated if (found := re.match(r"([A-Za-z0-9-]+)>=([0-9.]+)", line))}
    wrong = []
    for line in constraints.splitlines():
        if found := re.match(r"([A-Za-z0-9-]+)==([0-9.]+)", line):
            name, pinned = found[1].lower(), _numbers(found[2])
            if name in lower and pinned[: len(_numbers(lower[name]))] != _numbers(lower[name]):
                wrong.append(f"{name} is pinned to {found[2]}, the bound is {lower[name]}")
    pinned_names = {line.partition("==")[0].lower() for line in constraints.splitlines() if "==" in line}
    base = {found[1].lower() for line in project["dependencies"] if (found := re.match(r"([A-Za-z0-9-]+)>=", line))}
    return wrong + [f"{name} is not pinned" for name in sorted(base - pinned_names)]


_TESTED = ("data", "plot", "qp", "onnx")
"""Extras that the tests of a release install."""


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _run_tests(release: Release, name: str, interpreter: Path, *constraints: Path) -> str:
    """Run tests of the source distribution against the wheel, in an environment of its own."""
    environment = Environment.make(release.scratch / name, interpreter)
    wheel = release.wheel(release.distributions[0]).path
    environment.install(f"{wheel}[{','.join(('test', *_TESTED))}]", constraints=constraints)
    kernels = _kernels(environment, wheel)
    parts = [f"tests/{part}" for part in release.parts]
    # The sources of the package are taken away, so that the wheel is what is tested.
    sources = release.scratch / f"sources-{name}"
    shutil.rmtree(sources, ignore_errors=True)
    shutil.copytree(release.sources, sources, ignore=shutil.ignore_patterns("src", "__pycache__"))
    words = ["-m", "pytest", "-n", "2", "-m", "not slow", "--no-header", *parts]
    done = environment.python(*words, folder=sources, OMP_NUM_THREADS="1")
    last = done.stdout.rstrip().splitlines()[-1] if done.stdout.strip() else "nothing was printed"
    (release.scratch / f"{name}.log").write_text(done.stdout, "utf-8")
    if done.returncode:
        raise Failed(f"{last}\nsee build/release/{name}.log; it ends with\n{done.stdout[-2500:]}")
    return f"{last.strip('= ')}; {_versions(environment)}; {kernels}"


def _kernels(environment: Environment, wheel: Path) -> str:
    """Say whether the wheel has compiled kernels, and check that this interpreter loads them."""
    if wheel.name.endswith("-none-any.whl"):
        return "no compiled kernels"
    code = "from dtsemnet.kernels.native import native; print(native().__name__)"
    done = environment.python("-c", code, folder=environment.folder)
    if done.returncode:
        raise Failed(f"the compiled kernels of {wheel.name} do not load:\n{done.stdout[-1500:]}")
    return f"compiled kernels {done.stdout.strip().rpartition('.')[2]}"


def _versions(environment: Environment) -> str:
    """The versions that matter in an environment."""
    code = (
        "import platform; from importlib.metadata import version; print('Python', platform.python_version() + ',', "
        "', '.join(f'{name} {version(name)}' for name in ('numpy', 'scipy', 'scikit-learn', 'numba', 'pandas')))"
    )
    return environment.python("-c", code).stdout.strip()


def check_audit(release: Release) -> str:
    """No package that the wheel brings along has a known hole."""
    try:
        metadata.version("pip-audit")
    except metadata.PackageNotFoundError:
        raise Skipped("pip-audit is not installed") from None
    frozen = release.plain.python("-m", "pip", "freeze", "--exclude", "dtsemnet")
    packages = release.scratch / "packages.txt"
    packages.write_text(frozen.stdout, "utf-8")
    # --strict: a package that the index knows no advisories of would else pass unseen.
    done = run([sys.executable, "-m", "pip_audit", "--strict", "--no-deps", "--disable-pip", "-r", packages])
    if done.returncode and "Found" not in done.stdout:
        last = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else "nothing was printed"
        raise Skipped(f"pip-audit could not look the packages up: {last[-150:]}")
    if done.returncode:
        raise Failed(done.stdout[-2000:])
    return f"nothing known about {_counted(frozen.stdout.splitlines(), 'package')}"


CHECKS: dict[str, Callable[[Release], str]] = {
    "versions": check_versions,
    "committed": check_committed,
    "build": check_build,
    "contents": check_contents,
    "metadata": check_metadata,
    "install": check_install,
    "imports": check_imports,
    "licences": check_licences,
    "audit": check_audit,
    **{f"python-{version}": _check_python(version) for version in PYTHONS},
    "oldest": check_oldest,
}


def main(words: Sequence[str] | None = None, release: Release | None = None) -> int:
    """Run checks, print a line for each, and return the exit code."""
    parser = argparse.ArgumentParser(description="Check that a release may be made.")
    known = "; ".join(f"{name}: {(check.__doc__ or name).splitlines()[0]}" for name, check in CHECKS.items())
    parser.add_argument("checks", nargs="*", metavar="CHECK", help=f"which to run, by default all. {known}")
    parser.add_argument(
        "--parts", nargs="+", default=list(PARTS), help="files and folders of tests that run (default: %(default)s)"
    )
    options = parser.parse_args(words)
    unknown = [name for name in options.checks if name not in CHECKS]
    if unknown:
        parser.error(f"{unknown[0]!r} is no check; there are {', '.join(CHECKS)}.")
    release = release or Release(parts=options.parts)
    release.scratch.mkdir(parents=True, exist_ok=True)
    verdicts = [_carry_out(name, release) for name in options.checks or CHECKS]
    failed, skipped = verdicts.count("FAIL"), verdicts.count("skip")
    print(f"\n{verdicts.count('ok')} ok, {skipped} skipped, {failed} failed: " + ("no release" if failed else "ready"))
    return 1 if failed else 0


def _carry_out(name: str, release: Release) -> str:
    """Run one check and print what came of it."""
    started = time.monotonic()
    try:
        verdict, words = "ok", CHECKS[name](release)
    except Skipped as reason:
        verdict, words = "skip", str(reason)
    except Exception as error:  # one check that breaks must not hide what the others say
        verdict, words = "FAIL", str(error) if isinstance(error, Failed) else f"{type(error).__name__}: {error}"
    seconds = time.monotonic() - started
    first, *rest = [part for line in words.splitlines() for part in textwrap.wrap(line, 92) or [""]] or [""]
    print(f"{verdict:<4}  {name:<12} {first}", *(f"{'':19}{line}" for line in rest), sep="\n", end="", flush=True)
    print(f"  ({seconds:.0f} s)" if seconds >= 1 else "", flush=True)
    return verdict


def _counted(things: Sequence[object], noun: str) -> str:
    return f"{len(things)} {noun}{'' if len(things) == 1 else 's'}"


if __name__ == "__main__":
    raise SystemExit(main())
