"""``python -m planted`` in tests/: the planted bugs, what Triton's interpreter says, what the emulator says."""

from planted import bugs, emulate, plain, seen


def main() -> None:
    print("| planted bug | Triton's interpreter | emulator |")
    print("|---|---|---|")
    for bug in bugs():
        verdict = emulate(bug)
        note = "MISSED"
        if seen(bug, verdict):
            note = {
                "wrong-value": "the output is wrong",
                "order": "another order of programs gives another output",
            }.get(bug.kind, f"{bug.kind}: {verdict.sentence}")
        print(f"| {bug.title} | {plain(bug)} | {note} |")


if __name__ == "__main__":
    main()
