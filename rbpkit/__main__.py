from rbpkit.cli.app import main

main()
