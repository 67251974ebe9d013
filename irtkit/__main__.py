"""``python -m irtkit`` runs the command line."""

from irtkit.cli import main

if __name__ == "__main__":
    main()
