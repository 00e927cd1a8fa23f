import { ROW_BYTES, ROW_GROUP_BYTES_MAX, ROW_GROUP_MESSAGES_MAX } from '../../model/archive-limits.ts';
import type { ArchivedMessage } from '../../model/archived-file.ts';
import { utf8Bytes } from '../../format/utf8.ts';

/** Row groups as FORMAT.md bounds them, whatever pieces the messages come in: two archivers cut alike. None is empty. */
export async function* cutRowGroups(pieces: AsyncIterable<readonly ArchivedMessage[]>): AsyncGenerator<readonly ArchivedMessage[]> {
  let group: ArchivedMessage[] = [];
  let groupBytes = 0;
  for await (const piece of pieces) {
    for (const message of piece) {
      const bytes = rowBytes(message);
      if (group.length > 0 && (groupBytes + bytes > ROW_GROUP_BYTES_MAX || group.length === ROW_GROUP_MESSAGES_MAX)) {
        yield group;
        group = [];
        groupBytes = 0;
      }
      group.push(message);
      groupBytes += bytes;
    }
  }
  if (group.length > 0) yield group;
}

function rowBytes({ key, value, headers }: ArchivedMessage): number {
  let bytes = ROW_BYTES + key.length + (value?.length ?? 0);
  for (const header of headers) bytes += utf8Bytes(header.name) + (header.value?.length ?? 0);
  return bytes;
}
