"""Files read as if somebody had made them to do harm.

Only regular files are read, through no link, and no more of them than the limits below.
"""

from __future__ import annotations

import codecs
import io
import os
import stat
import zipfile
from contextlib import suppress
from pathlib import Path

from rbpkit.errors import InputError, one_line

MOST_BYTES = 20_000_000  # of a file
MOST_UNPACKED = 100_000_000  # bytes of all files of a zip
MOST_FILES = 2_000  # of a zip
MOST_IN_A_CELL = 2_000  # characters of an answer, a reason, or any other text in a table


def printable(text: str) -> str:
    """The text on one line; half characters and what moves a terminal's cursor as escapes."""
    signs = [sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text]
    return "".join(signs)


def read_bytes(path: Path) -> bytes:
    """All bytes of a regular file of at most `MOST_BYTES`; InputError for anything else.

    No link is followed and no pipe is waited for, even if one takes the file's place meanwhile.
    """
    # Flags that Windows does not have are 0 there.
    flags = os.O_RDONLY
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"):
        flags |= getattr(os, name, 0)
    try:
        check_regular(path, os.lstat(path), MOST_BYTES)  # opening a device may do something
        with open(os.open(path, flags), "rb") as file:
            check_regular(path, os.fstat(file.fileno()), MOST_BYTES)
            return file.read(MOST_BYTES)
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})") from error


def check_regular(path: Path, status: os.stat_result, most_bytes: int) -> None:
    """InputError unless the status is that of a regular file of at most this many bytes."""
    if stat.S_ISLNK(status.st_mode):
        raise InputError(f"{path.name} is a link, which is not followed; hand in the file itself")
    if not stat.S_ISREG(status.st_mode):
        raise InputError(f"{path.name} is a pipe or a device, not a file")
    if status.st_size > most_bytes:
        size = f"{status.st_size / 1e6:,.0f} MB"
        raise InputError(f"{path.name} has {size}; at most {most_bytes / 1e6:.0f} MB are read")


def unpacked(path: Path, goal: Path) -> Path:
    """Unpack a zip into a folder; InputError for a damaged one, and for one with too much in it.

    `extractall` keeps all files below the folder, makes no links, and writes no more bytes of a
    file than the zip says it has.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(read_bytes(path))) as archive:
            size = sum(member.file_size for member in archive.infolist())
            if size > MOST_UNPACKED or len(archive.infolist()) > MOST_FILES:
                raise InputError(
                    f"{size / 1e6:,.0f} MB in {len(archive.infolist()):,} files; at most"
                    f" {MOST_UNPACKED / 1e6:.0f} MB in {MOST_FILES:,} are unpacked"
                )
            archive.extractall(goal)
    except InputError:
        raise
    except Exception as error:  # zipfile, zlib and the file system have no common error
        raise InputError(f"is no zip that can be unpacked ({one_line(error)})") from error
    return goal


def cut(text: str, most: int = MOST_IN_A_CELL) -> str:
    """The text's first characters."""
    return text if len(text) <= most else f"{text[:most]} ..."


def decoded(data: bytes) -> str:
    """A text in UTF-8, in UTF-16 with its mark, or in the code page of Windows' Notepad."""
    is_utf_16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    for encoding in ["utf-16"] if is_utf_16 else ["utf-8-sig", "cp1252"]:
        with suppress(UnicodeDecodeError):
            return data.decode(encoding)
    raise InputError("cannot be read (no text in UTF-8, UTF-16 or cp1252)")
