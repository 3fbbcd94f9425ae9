"""``python -m planted`` in tests/: the planted bugs, what Triton's interpreter says, what the emulator says."""

from planted import bugs, plain, word


def main() -> None:
    print("| planted bug | Triton's interpreter | emulator |")
    print("|---|---|---|")
    for bug in bugs():
        print(f"| {bug.title} | {plain(bug)} | {word(bug)} |")


if __name__ == "__main__":
    main()
