"""A plugin of `make test`: nbval reaches its kernels as `rbpkit.tools.study.notebooks` does."""

from functools import partial

import nbval.kernel

from rbpkit.tools.study.notebooks import socket_files


def start_manager(manager, **options):
    return manager(config=socket_files(), **options)


nbval.kernel.KernelManager = partial(start_manager, nbval.kernel.KernelManager)
