"""A full disk: nothing that was done is lost."""

import shutil
import subprocess

import pytest
from conftest import content
from test_records import make_records

from rbpkit.records import find_done, write_records


@pytest.fixture
def disk(tmp_path):
    """A small disk of its own."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("needs the right to mount a tmpfs (root)")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def fill(disk, pages: int) -> None:
    """Leave so many pages of room."""
    (disk / "filler").write_bytes(bytes(shutil.disk_usage(disk).free - 4096 * pages))


def test_a_full_disk_costs_nothing_that_was_done(disk):
    """From no room at all to enough: the earlier result stays, or the new one is there."""
    earlier = make_records([300] * 6, gaps=False)
    other = make_records([250] * 8, seed=5, gaps=False, batch_tokens=2)
    written = []
    for pages in range(16):
        folder = write_records(disk, earlier).parent
        fill(disk, pages)
        before = content(folder)
        try:
            write_records(disk, other)
            assert find_done(disk, other.manifest.key).manifest == other.manifest
            written.append(True)
        except OSError as error:
            assert error.strerror == "No space left on device"
            assert content(folder) == before
            written.append(False)
        (disk / "filler").unlink()
    assert written == sorted(written) and not written[0] and written[-1]
