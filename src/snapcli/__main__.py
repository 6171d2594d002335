"""python -m snapcli"""

from snapcli.cli import main

main()
