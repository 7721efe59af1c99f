"""The proof file: claims about a model on a domain, with all that a stranger needs to check them.

.. code-block:: text

    {"format": "dtsemnet-proof", "version": 1, "fingerprint": "9f0c...",
     "model": {... a model file ...},
     "domain": {"columns": [{"low": 0.0, "high": 1.0}, ...], "constraints": {"A": [[...]], "b": [...]}},
     "second": {"model": {...}, "columns": [0, 1, ...]},
     "claims": [{"statement": {"kind": "never", "classes": ["grant"]}, "holds": true,
                 "certificate": {"2": {"farkas": [["s0", 1.5], ["s2", 0.25]]}}},
                {"statement": {"kind": "never", "classes": ["refuse"]}, "holds": false, "witness": [[0.5, 0.25]]}],
     "undecided": [{"kind": "never", "leaves": [3]}]}

``docs/proof-file.md`` says what each field means, ``proof.schema.json`` beside this module is the JSON Schema, and the
distribution ``dtsemnet-check`` checks a file without this library. Numbers are written so that doubles come back bit
for bit; a double is a fraction, so multipliers are exact.

To add a kind of statement: write its fields in :class:`~dtsemnet.verify.proof.claims.Claim`, make its certificates of
the parts in :mod:`dtsemnet.verify.proof.claims` (nodes that no input gets to, goals in leaves), give the checker a
branch that derives the same walk and goals, and add it to the schema and the page.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from dtsemnet.files import write_atomically
from dtsemnet.tree import Model, file
from dtsemnet.verify.proof.claims import Claim, Evidence
from dtsemnet.verify.proof.readings import Reading

__all__ = ["VERSION", "Provable", "proof_document", "save_proof", "schema"]

VERSION = 1


class Provable:
    """An answer that can be saved as a proof."""

    evidence: Evidence | None

    def save_proof(self, path: str | PathLike[str]) -> Path:
        """Write the proof file (:mod:`dtsemnet.verify.proof.file`), which ``dtsemnet-check`` checks without dtsemnet.

        Bounds and radii are proved once more for it, which takes about as long as the question did.
        """
        return save_proof(path, [] if self.evidence is None else [self.evidence])


def save_proof(path: str | PathLike[str], evidence: Sequence[Evidence]) -> Path:
    """Write claims about one model and domain as a file."""
    document = proof_document(evidence)
    lines = [f"{json.dumps(key)}: {_written(part)}" for key, part in document.items()]
    return write_atomically(path, "{\n" + ",\n".join(lines) + "\n}\n")


def proof_document(evidence: Sequence[Evidence]) -> dict[str, Any]:
    """The content of a proof file."""
    if not evidence:
        raise ValueError("there is nothing to save: this answer was not made by a question of dtsemnet.verify.")
    first = evidence[0]
    claims = [claim for one in evidence for claim in one.claims()]
    document: dict[str, Any] = {
        "format": "dtsemnet-proof",
        "version": VERSION,
        "fingerprint": first.model.fingerprint(),
    }
    document |= {"model": _model(first.model), "domain": _domain(first)}
    second = next((one.second for one in evidence if one.second is not None), None)
    if second is not None:
        document["second"] = {"model": _model(second[0]), "columns": second[1]}
    document["claims"] = [_claim(claim) for claim in claims if claim.holds is not None]
    document["undecided"] = [claim.statement for claim in claims if claim.holds is None]
    return document


def schema() -> dict[str, Any]:
    """Read the JSON Schema of the proof file.

    Examples
    --------
    >>> schema()["title"]
    'dtsemnet proof'
    """
    return json.loads(Path(__file__).with_name("proof.schema.json").read_text("utf-8"))


def _claim(claim: Claim) -> dict[str, Any]:
    name = "certificate" if claim.holds else "witness"
    return {"statement": claim.statement, "holds": claim.holds, name: claim.evidence}


def _model(model: Model) -> dict[str, Any]:
    return json.loads(file.dumps(model))


def _domain(evidence: Evidence) -> dict[str, Any]:
    found: dict[str, Any] = {"columns": [_column(reading) for reading in evidence.readings]}
    if evidence.constraints is not None:
        A, b = evidence.constraints
        found["constraints"] = {"A": A.tolist(), "b": b.tolist()}
    return found


def _column(reading: Reading) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if not reading.has_numbers:
        found["categories"] = list(reading.categories)
    elif reading.present:
        found |= {"low": float(reading.low), "high": float(reading.high)}
    flags = {"integer": reading.is_integer, "missing": reading.may_miss, "unknown": reading.may_be_unknown}
    return found | {name: True for name, is_set in flags.items() if is_set}


def _written(part: Any) -> str:
    """JSON with one claim per line."""
    if isinstance(part, list) and part:
        return "[\n" + ",\n".join(json.dumps(entry, allow_nan=False) for entry in part) + "\n]"
    return json.dumps(part, allow_nan=False)
