"""`python -m budgetron`: the command."""

from budgetron.cli import main

if __name__ == "__main__":
    main()
