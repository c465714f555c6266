from rbpkit.tools.cli.app import main

main()
