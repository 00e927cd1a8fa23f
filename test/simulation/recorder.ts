import type { Address, History, Outcome, Publish, Read, Seen } from '../checkers/history.ts';

type Draft = Omit<Publish, 'endedAt' | 'outcome' | 'address'>;

/** Writes down what clients do and see. */
export type Recorder = {
  /** Before a message is sent for the first time. */
  begin(message: { readonly id: string; readonly key: string; readonly line?: Publish['line'] }): void;
  /** The message goes on another line: on the one before it surely never landed. */
  move(id: string, line: NonNullable<Publish['line']>): void;
  /** After the last answer about it. */
  end(id: string, outcome: Outcome, address?: Address): void;
  see(reader: string, messages: readonly Seen[]): void;
  /** This reader has read all there is. */
  complete(reader: string, tails?: ReadonlyMap<string, number>): void;
  /** This reader has begun at the end as it is now, and will have read all that is sent from here on. */
  began(reader: string): void;
  /** An answer that no client may get. */
  surprise(what: string): void;
  history(): History;
  readonly surprises: readonly string[];
};

export function createRecorder(): Recorder {
  const drafts = new Map<string, Draft>();
  const publishes: Publish[] = [];
  const reads = new Map<string, { messages: Seen[]; complete: boolean; since?: number; tails?: ReadonlyMap<string, number> }>();
  const surprises: string[] = [];
  let events = 0;
  const tick = (): number => (events += 1);
  const readOf = (reader: string) => {
    const read = reads.get(reader) ?? { messages: [], complete: false };
    reads.set(reader, read);
    return read;
  };
  return {
    surprises,
    begin({ id, key, line }) {
      drafts.set(id, { id, key, digest: id, sentAt: tick(), ...(line === undefined ? {} : { line }) });
    },
    move(id, line) {
      const draft = drafts.get(id);
      if (draft === undefined) throw new Error(`${id} was never begun`);
      drafts.set(id, { ...draft, line });
    },
    end(id, outcome, address) {
      const draft = drafts.get(id);
      if (draft === undefined) throw new Error(`${id} was never begun`);
      drafts.delete(id);
      publishes.push({ ...draft, endedAt: tick(), outcome, ...(address === undefined ? {} : { address }) });
    },
    see(reader, messages) {
      readOf(reader).messages.push(...messages);
    },
    complete(reader, tails) {
      Object.assign(readOf(reader), { complete: true, ...(tails === undefined ? {} : { tails }) });
    },
    began(reader) {
      readOf(reader).since = tick();
    },
    surprise: (what) => void surprises.push(what),
    history() {
      // What nobody waited for any more may be stored.
      const open = [...drafts.values()].map((draft): Publish => ({ ...draft, endedAt: tick(), outcome: 'unknown' }));
      const all = [...reads].map(([reader, read]): Read => ({ reader, ...read }));
      return { publishes: [...publishes, ...open], reads: all };
    },
  };
}
