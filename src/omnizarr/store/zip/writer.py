"""Writing an archive: entries one after the other, and the directory at the end."""

from __future__ import annotations

from collections.abc import Mapping

from omnizarr.errors import InvalidKeyError
from omnizarr.store.contract import Buffer
from omnizarr.store.zip.byte_source import FileSource
from omnizarr.store.zip.entries import Entry
from omnizarr.store.zip.records import central_record, end_records, local_record

__all__ = ["ArchiveWriter", "encoded_name"]

_BUFFER_SIZE = 2**20  # bytes of small entries that are written together
_DOCUMENT = 2**12  # bytes
_STEP = 2**24  # bytes of a large entry that are copied at a time


def encoded_name(key: str) -> bytes:
    """A key as the name of an entry."""
    name = key.encode()
    if len(name) > 0xFFFF:
        raise InvalidKeyError(f"the key `{key[:40]}…` is longer than the 65,535 bytes that an archive allows", key=key)
    return name


class ArchiveWriter:
    """Writes an archive to a file. One thread at a time."""

    def __init__(self, source: FileSource) -> None:
        self.source = source
        self.end = 0
        self.unused = 0  # bytes of entries that were replaced or erased

    def add(self, name: bytes, method: int, crc: int, stored: Buffer, size: int) -> Entry:
        """Write an entry."""
        head = local_record(name, method, crc, len(stored), size)
        entry = Entry(self.source, self.end, len(name), method, crc, len(stored), size)
        entry.start = self.end + len(head)
        self.end = entry.limit = self.source.write(self.end, head, stored)
        return entry

    def drop(self, entry: Entry) -> None:
        """Count the bytes of an entry that was replaced or erased."""
        if entry.source is self.source:
            self.unused += entry.limit - entry.offset

    def complete(self, entries: Mapping[str, Entry]) -> dict[str, Entry]:
        """Add the entries of other sources, and the directory; returns all entries as they are in this file. If it
        fails, it may be called again and overwrites what it added."""
        written = {key: entry for key, entry in entries.items() if entry.source is self.source}
        buffer = bytearray()
        begin = self.end
        # Small entries, as documents are, come last: a reader that fetches the end for the directory has them, too.
        for key, entry in sorted(entries.items(), key=lambda item: item[1].stored_size <= _DOCUMENT):
            if key in written:
                continue
            name = key.encode()
            head = local_record(name, entry.method, entry.crc, entry.stored_size, entry.size)
            written[key] = copy = Entry(
                self.source, begin + len(buffer), len(name), entry.method, entry.crc, entry.stored_size, entry.size
            )
            copy.start = copy.offset + len(head)
            copy.limit = copy.start + entry.stored_size
            buffer += head
            for start in range(0, entry.stored_size, _STEP):
                buffer += entry.part(start, min(_STEP, entry.stored_size - start))
                if len(buffer) >= _BUFFER_SIZE:
                    begin = self.source.write(begin, buffer)
                    buffer.clear()
        self._write_directory(written, self.source.write(begin, buffer))
        return written

    def _write_directory(self, entries: Mapping[str, Entry], begin: int) -> None:
        at, buffer = begin, bytearray()
        for key, entry in entries.items():
            buffer += central_record(key.encode(), entry.method, entry.crc, entry.stored_size, entry.size, entry.offset)
            if len(buffer) >= _BUFFER_SIZE:
                at = self.source.write(at, buffer)
                buffer.clear()
        at = self.source.write(at, buffer)
        self.source.truncate(self.source.write(at, end_records(begin, at - begin, len(entries))))
