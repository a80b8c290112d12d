"""`python -m ringcast`: the same as the command `ringcast`."""

from ringcast.cli import main

main()
