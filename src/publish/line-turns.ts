/** `here`: batches that this broker commits, whose order its groups keep. `away`: one that is with another broker, and alone. */
export type Place = 'here' | 'away';

/**
 * Keeps the batches of a producer's line in order where some are committed here and others elsewhere: one that overtook
 * another would be a gap. Each has its turn once those before it, but for such as are here like itself, have ended.
 */
export type LineTurns = {
  /** Undefined: its turn has begun. The signal's end takes it out of the line, and rejects with its reason. */
  take(line: string, place: Place, signal: AbortSignal): Promise<void> | undefined;
  /** Ends a turn that had begun. */
  end(line: string): void;
};

type Waiter = { readonly place: Place; readonly begin: () => void };
/** `running`: turns under way, all of the same place. */
type Line = { place: Place; running: number; waiters: Waiter[] };

export function createLineTurns(): LineTurns {
  const lines = new Map<string, Line>();

  function pump(name: string, line: Line): void {
    for (let next = line.waiters[0]; next !== undefined && mayBegin(line, next.place); next = line.waiters[0]) {
      line.waiters.shift();
      begin(line, next.place);
      next.begin();
    }
    if (line.running === 0) lines.delete(name);
  }

  function wait(name: string, { line, place }: { readonly line: Line; readonly place: Place }, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        line.waiters = line.waiters.filter((other) => other !== waiter);
        pump(name, line);
        reject(signal.reason as Error);
      };
      const waiter: Waiter = {
        place,
        begin() {
          signal.removeEventListener('abort', onAbort);
          resolve();
        },
      };
      signal.addEventListener('abort', onAbort, { once: true });
      line.waiters.push(waiter);
    });
  }

  return {
    take(name, place, signal) {
      const line = lines.get(name);
      if (line === undefined) {
        lines.set(name, { place, running: 1, waiters: [] });
        return undefined;
      }
      if (line.waiters.length > 0 || !mayBegin(line, place)) return wait(name, { line, place }, signal);
      begin(line, place);
      return undefined;
    },
    end(name) {
      const line = lines.get(name);
      if (line === undefined) throw new Error(`no turn of line ${name} has begun`);
      line.running -= 1;
      pump(name, line);
    },
  };
}

function mayBegin(line: Line, place: Place): boolean {
  return line.running === 0 || (place === 'here' && line.place === 'here');
}

function begin(line: Line, place: Place): void {
  line.place = place;
  line.running += 1;
}
