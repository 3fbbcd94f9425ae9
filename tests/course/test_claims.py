"""Each number and promise of the pages that a stranger reads first has a proof in claims.toml, and is what it shows."""

import claims
import pytest
from graded_kernels.autograder import EXERCISES

LISTED = claims.claims()
CLAIM = {"page": "CHANGELOG.md", "says": "kept by hand", "proof": "LICENSE", "shows": "MIT"}


@pytest.mark.parametrize("claim", LISTED, ids=lambda claim: f"{claim['page']}: {claim['says'][:40]}")
def test_a_claim_has_a_proof_with_its_numbers(claim):
    assert list(claims.wrong(claim)) == []


@pytest.mark.parametrize("page", claims.PAGES)
def test_no_number_and_no_promise_is_without_a_claim(page):
    text = (claims.ROOT / page).read_text(encoding="utf-8")
    assert list(claims.unproven(page, text, LISTED)) == []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"says": "used in a class"}, "does not say so"),
        ({"shows": "Apache"}, "does not show 'Apache'"),
        ({"says": "617 right answers pass"}, "other numbers than 617"),
        ({"tests": "test_claims::test_nowhere"}, "no test test_claims::test_nowhere"),
    ],
)
def test_what_is_wrong_with_a_claim_is_said(change, says):
    assert list(claims.wrong(CLAIM)) == []
    assert [sentence for sentence in claims.wrong(CLAIM | change) if says in sentence]


def test_a_claim_without_a_proof_is_told():
    (told,) = claims.wrong({"page": "CHANGELOG.md", "says": "kept by hand"})
    assert "without a proof" in told


@pytest.mark.parametrize("text", ["It took 12 minutes.", "Six libraries use it.", "Nothing is lost.", "| a | 24 |"])
def test_a_sentence_that_nothing_proves_is_told(text):
    (told,) = claims.unproven("README.md", f"# Head 5\n\nGood [page](12.md), `every`. {text}", [])
    assert text.rstrip(".") in told
    covered = {"page": "README.md", "says": text}
    assert not list(claims.unproven("README.md", text.replace(" ", "\n", 1), [covered]))


def test_the_bugs_that_are_counted_are_those_of_the_records():
    """README and research count what benchmarks/wild.md went through."""
    count = sum(len(getattr(record, "wild", ())) for record in EXERCISES.values())
    assert f"Of {count}: passed 0" in (claims.ROOT / "benchmarks/wild.md").read_text(encoding="utf-8")
