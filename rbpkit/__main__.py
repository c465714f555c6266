from rbpkit.cli import main

main()
