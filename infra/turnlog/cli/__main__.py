"""`python -m turnlog.cli` is the `turnlog` command."""

from .main import main

if __name__ == "__main__":
    main()
