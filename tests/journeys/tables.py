"""Tables as people have them: made up here in the manner of well-known ones, so that nothing comes from elsewhere.

Each :class:`Journey` writes one file, says how it is to be fitted, what has to be said about it, and how good the tree
must be on rows held out. The signal in each table is strong, so that a quick fit shows whether the columns were read
right: a decimal comma read as 145 categories costs half of R2.
"""

from __future__ import annotations

import gzip
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine

__all__ = ["JOURNEYS", "Journey"]

N = 160


@dataclass(frozen=True)
class Journey:
    """One table from its file to proofs."""

    file: str
    table: Callable[[], pd.DataFrame]
    target: str
    write: Callable[[pd.DataFrame, Path], None]
    least: float
    """Least accuracy or R2 on rows held out."""
    options: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """Patterns of what has to be said on the way."""
    fates: tuple[tuple[str, str], ...] = ()
    """Columns, and how what became of them begins."""
    reading: tuple[str, ...] = ()
    """Options that every verb needs for this file."""


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def penguins() -> pd.DataFrame:
    r = rng()
    kind = r.integers(0, 3, N)
    frame = pd.DataFrame(
        {
            "island": np.array(["Torgersen", "Dream", "Biscoe"])[kind],
            "bill_length_mm": np.round(38 + 5 * kind + r.normal(0, 1, N), 1),
            "flipper_length_mm": (185 + 15 * kind + r.normal(0, 3, N)).round(),
            "sex": r.choice(["male", "female"], N),
        }
    )
    frame["species"] = np.array(["Adelie", "Chinstrap", "Gentoo"])[kind]
    frame.loc[::13, "sex"] = None
    frame.loc[::17, "bill_length_mm"] = np.nan
    return frame


def diamonds() -> pd.DataFrame:
    r = rng()
    carat = np.round(r.uniform(0.2, 3, N), 2)
    cut = r.choice(["Fair", "Good", "Ideal"], N)
    price = (4000 * carat + 900 * (cut == "Ideal") + r.normal(0, 150, N)).round(1)
    return pd.DataFrame({"carat": carat, "cut": cut, "depth": np.round(r.normal(61, 1, N), 1), "price": price})


def movies() -> pd.DataFrame:
    r = rng()
    budget = r.integers(1_000, 90_000, N) * 1000
    frame = pd.DataFrame(
        {"title": [f"Movie {k}" for k in range(N)], "budget": budget, "year": r.integers(1950, 2005, N)}
    )
    frame["votes"] = r.integers(5, 99_000, N)
    return frame.assign(rating=np.round(2 + 7 * budget / 9e7 + r.normal(0, 0.2, N), 2))


def cars() -> pd.DataFrame:
    r = rng()
    power = r.integers(60, 220, N).astype(float)
    frame = pd.DataFrame(
        {"horsepower": power, "cylinders": r.choice([4, 6, 8], N), "origin": r.choice(["us", "eu"], N)}
    )
    frame["mpg"] = np.round(45 - 0.15 * power + 2 * (frame.origin == "eu") + r.normal(0, 0.7, N), 1)
    return frame


def trial() -> pd.DataFrame:
    r = rng()
    frame = pd.DataFrame(
        {"pidnum": np.arange(10_000, 10_000 + N), "age": r.integers(18, 70, N), "cd40": r.integers(50, 800, N)}
    )
    return frame.assign(arms=r.integers(0, 4, N), cens=(frame.cd40 + 3 * frame.age < 500).astype(int))


def loans() -> pd.DataFrame:
    r = rng()
    ratio = np.round(r.uniform(5, 60, N), 1)
    frame = pd.DataFrame({"debt": ratio, "rate": np.round(r.uniform(2, 9, N), 1), "race": r.choice(["a", "b", "c"], N)})
    return frame.assign(deny=np.where(ratio + 2 * frame.rate > 45, "yes", "no"))


def companies() -> pd.DataFrame:
    r = rng()
    sales = np.round(r.lognormal(1, 1, N), 2)
    frame = pd.DataFrame({"rank": range(1, N + 1), "name": [f"Société {k} Ltd" for k in range(N)], "sales": sales})
    return frame.assign(
        assets=np.round(sales * 2 + r.normal(0, 0.1, N), 2), country=r.choice(["Österreich", "España"], N)
    )


def airports() -> pd.DataFrame:
    r = rng()
    lat, lon = np.round(r.uniform(25, 49, N), 4), np.round(r.uniform(-124, -67, N), 4)
    frame = pd.DataFrame({"iata": [f"A{k:03}" for k in range(N)], "latitude": lat, "longitude": lon})
    return frame.assign(zone=np.where(lon < -105, "west", np.where(lon < -85, "middle", "east")))


def sales() -> pd.DataFrame:
    r = rng()
    day = pd.Timestamp("2023-01-01") + pd.to_timedelta(r.integers(0, 700, N), unit="D")
    weekend = (day.day_of_week >= 5).astype(float)
    frame = pd.DataFrame({"day": day, "shop": r.choice(["north", "south"], N), "units": r.integers(1, 5, N)})
    return frame.assign(revenue=np.round(100 + 80 * weekend + 0.1 * day.day_of_year + r.normal(0, 2, N), 2))


def titanic() -> pd.DataFrame:
    r = rng()
    frame = pd.DataFrame(
        {"Pclass": r.integers(1, 4, N), "Name": [f"Mr. {k}, John" for k in range(N)], "Sex": r.choice(["m", "f"], N)}
    )
    frame["Age"] = np.where(r.random(N) < 0.2, np.nan, r.integers(1, 80, N))
    frame["Cabin"] = np.where(r.random(N) < 0.8, None, "C85")
    return frame.assign(Survived=(frame.Sex == "f").astype(int))


def survey() -> pd.DataFrame:
    r = rng()
    frame = pd.DataFrame({f"q{k}": r.integers(1, 6, N) for k in range(6)})
    return frame.assign(happy=frame.q0 + frame.q1 > 6)


def sensors() -> pd.DataFrame:
    r = rng()
    frame = pd.DataFrame({f"s{k}": r.normal(k, 1, N) for k in range(4)})
    frame["status"] = "ok"
    frame["nothing"] = np.nan
    return frame.assign(power=np.round(3 * frame.s0 - frame.s1 + r.normal(0, 0.1, N), 3))


def census() -> pd.DataFrame:
    r = rng()
    hours = r.integers(10, 80, N)
    frame = pd.DataFrame(
        {"age": r.integers(17, 90, N), "workclass": r.choice(["Private", "State", "?"], N), "hours": hours}
    )
    return frame.assign(income=np.where(hours > 45, ">50K", "<=50K"))


def from_sklearn(load: Callable[..., object], target: str) -> Callable[[], pd.DataFrame]:
    def table() -> pd.DataFrame:
        found = load(as_frame=True)
        names = getattr(found, "target_names", None)
        y = found.target if names is None else np.array(names, dtype=object)[found.target]  # type: ignore[attr-defined]
        return found.data.iloc[:, :8].assign(**{target: y}).sample(N if len(y) > N else len(y), random_state=0)  # type: ignore[attr-defined]

    return table


def csv(
    sep: str = ",", encoding: str = "utf-8", na: str = "", **formats: Callable[[object], str]
) -> Callable[..., None]:
    """Write as text, some columns by a format of their own."""

    def write(frame: pd.DataFrame, path: Path) -> None:
        frame = frame.copy()
        for name, form in formats.items():
            frame[name] = [na if pd.isna(value) else form(value) for value in frame[name]]
        frame.to_csv(path, sep=sep, index=False, encoding=encoding, na_rep=na)

    return write


def comma(value: object) -> str:
    return str(value).replace(".", ",")


def german(value: object) -> str:
    return f"{value:,.1f}".translate(str.maketrans(",.", ".,"))


def packed(frame: pd.DataFrame, path: Path) -> None:
    text = frame.to_csv(index=False).encode()
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("data/table.csv", text)
    else:
        path.write_bytes(gzip.compress(text))


def iso(value: pd.Timestamp) -> str:
    return f"{value:%Y-%m-%d}"


def dotted(value: pd.Timestamp) -> str:
    return f"{value:%d.%m.%Y}"


TEXT = "holds? numbers written as text"
JOURNEYS = [
    Journey(
        "penguins.csv", penguins, "species", csv(na="NA"), 0.9, fates=(("sex", "2 categories, missing in 13 rows"),)
    ),
    Journey(
        "pinguine.csv",
        penguins,
        "species",
        csv(";", na="NA", bill_length_mm=comma),
        0.9,
        notes=(f"'bill_length_mm' {TEXT}",),
        fates=(("bill_length_mm", "number, missing in 10 rows, written as text"),),
    ),
    Journey("penguins.xlsx", penguins, "species", lambda f, p: f.to_excel(p, index=False), 0.9),
    Journey("penguins.feather", penguins, "species", lambda f, p: f.to_feather(p), 0.9),
    Journey("penguins.parquet", penguins, "species", lambda f, p: f.to_parquet(p), 0.9),
    Journey("penguins.jsonl", penguins, "species", lambda f, p: f.to_json(p, orient="records", lines=True), 0.9),
    Journey("penguins.zip", penguins, "species", packed, 0.9),
    Journey("penguins.csv.gz", penguins, "species", packed, 0.9),
    Journey("penguins16.csv", penguins, "species", csv("\t", "utf-16"), 0.9),
    Journey("diamonds.csv", diamonds, "price", csv(), 0.9),
    Journey(
        "diamanten.csv",
        diamonds,
        "price",
        csv(";", carat=comma, depth=comma, price=german),
        0.9,
        notes=(f"columns .*{TEXT}",),
    ),
    Journey(
        "diamonds-dollar.csv",
        diamonds,
        "price",
        csv(price=lambda v: f"${v:,.2f}"),
        0.9,
        notes=(rf"'price' {TEXT}: '\$",),
    ),
    Journey(
        "movies.csv",
        movies,
        "rating",
        csv(budget=lambda v: f"{v:,}", votes=lambda v: f"{v:,}"),
        0.8,
        notes=(f"2 columns .'budget', 'votes'. {TEXT}", "'title' left out: 160 different texts in 160 rows"),
    ),
    Journey(
        "mpg.csv",
        cars,
        "mpg",
        csv(),
        0.8,
        options=("--categorical", "cylinders"),
        fates=(("cylinders", "3 categories"),),
    ),
    Journey(
        "auto-mpg.data",
        cars,
        "mpg",
        lambda f, p: csv(" ", na="?")(f.assign(horsepower=f.horsepower.mask(f.index % 20 == 0)), p),
        0.7,
    ),
    Journey(
        "auto.csv",
        cars,
        "mpg",
        lambda f, p: csv(na="?")(f.assign(horsepower=f.horsepower.mask(f.index % 20 == 0)), p),
        0.7,
        notes=(r"'\?' is read as missing in column 'horsepower' \(8 rows\)",),
    ),
    Journey(
        "actg.csv", trial, "cens", csv(), 0.8, notes=("'pidnum' looks like an identifier; leave it out by --drop",)
    ),
    Journey("hmda.csv", loans, "deny", csv(rate=lambda v: f"{v}%"), 0.85, notes=(rf"'rate' {TEXT}: '.*%' is read as",)),
    Journey(
        "flchain.csv",
        lambda: trial().assign(futime=np.arange(N) % 37),
        "cens",
        csv(),
        0.8,
        options=("--drop", "pidnum", "--weight", "futime"),
    ),
    Journey(
        "forbes.csv",
        companies,
        "assets",
        csv(encoding="cp1252"),
        0.8,
        notes=("is not UTF-8 .* cp1252 ..*é.*; if that looks wrong, name its --encoding", "'name' left out"),
    ),
    Journey("forbes-latin.csv", companies, "assets", csv(encoding="latin-1"), 0.8, reading=("--encoding", "latin-1")),
    Journey("airports.csv", airports, "zone", csv("|"), 0.85, notes=("'iata' left out: 160 different texts",)),
    Journey(
        "sales.csv",
        sales,
        "revenue",
        csv(day=iso),
        0.6,
        options=("--date", "day"),
        notes=("'day' is read as 'day year', 'day month'",),
    ),
    Journey(
        "verkauf.csv",
        sales,
        "revenue",
        csv(";", day=dotted, revenue=comma),
        0.6,
        options=("--date", "day=weekday,month,days", "--weight", "units"),
        fates=(("day weekday", "number, from the date 'day'"),),
    ),
    Journey(
        "sales-undated.csv",
        sales,
        "revenue",
        csv(day=iso),
        -1.0,
        notes=("'day' left out: it holds dates or times .* --date 'day' reads them",),
    ),
    Journey(
        "titanic.csv",
        titanic,
        "Survived",
        csv(),
        0.85,
        fates=(("Name", "left out: 160 different texts"), ("Cabin", "1 category, missing")),
    ),
    Journey("survey.tsv", survey, "happy", csv("\t"), 0.75),
    Journey(
        "sensors.csv",
        sensors,
        "power",
        csv(),
        0.9,
        notes=("'status' left out: every row has 'ok'", "'nothing' left out: it is empty"),
    ),
    Journey("adult.csv", census, "income", csv(), 0.9, notes=(r"'\?' is read as missing in column 'workclass'",)),
    Journey(
        "coded.csv",
        lambda: sensors().assign(s1=lambda f: f.s1.mask(f.index % 15 == 0, -999)),
        "power",
        csv(),
        0.6,
        reading=("--na", "-999", "--na", "-999.0"),
    ),
    Journey(
        "headless.csv",
        lambda: airports().drop(columns="iata"),
        "x2",
        lambda f, p: f.to_csv(p, index=False, header=False),
        0.85,
        reading=("--no-header",),
    ),
    Journey("iris.csv", from_sklearn(load_iris, "species"), "species", csv(), 0.75),
    Journey("wine.csv", from_sklearn(load_wine, "cultivar"), "cultivar", csv(";"), 0.8),
    Journey("cancer.csv", from_sklearn(load_breast_cancer, "diagnosis"), "diagnosis", csv(), 0.8),
    Journey("diabetes.csv", from_sklearn(load_diabetes, "progression"), "progression", csv(), -0.5),
]
"""Every journey; the names of files tell whose manner they follow."""
