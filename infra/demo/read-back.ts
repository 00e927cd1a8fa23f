import type { ReadFlight } from './audit.ts';
import type { KelpClient, Page } from './kelp-client.ts';

export type Read = { readonly rows: number; readonly bytes: number; readonly requests: number };
export type Reading = {
  readonly client: Pick<KelpClient, 'read'>;
  /** More than these are no use: a broker that repeats itself must not keep us here. */
  readonly rowsMax: number;
  readonly onMessage: (message: ReadFlight) => void;
  readonly onProgress: (rows: number) => void;
};

/** Reads the topic from its begin until nothing more is there. The next page is on its way while this one is looked at. */
export async function readBack({ client, rowsMax, onMessage, onProgress }: Reading): Promise<Read> {
  const counts = { rows: 0, bytes: 0, requests: 0 };
  let coming = client.read('earliest');
  // Bounded: each page but the last has messages.
  while (counts.rows <= rowsMax) {
    const page: Page = await coming;
    counts.requests += 1;
    if (page.messages.length === 0) return counts;
    coming = client.read(page.cursor);
    coming.catch(() => undefined); // met where it is awaited, unless a message throws first
    for (const message of page.messages) onMessage(message);
    counts.rows += page.messages.length;
    counts.bytes += page.bytes;
    onProgress(counts.rows);
  }
  await coming;
  return counts;
}
