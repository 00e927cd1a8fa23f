import { KelpError } from '../../model/errors.ts';

export type LogEntry = {
  readonly timeMs: number;
  readonly level: 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
};

/** Names whose values are never written, whoever hands them in. */
const SECRET = /token|secret|password|passphrase|authorization|credential|cookie|signature|api-?_?key|access-?_?key/i;
/** A field is for people: longer text is cut, so that no payload gets into a log. */
const TEXT_LENGTH_MAX = 1_000;
const DEPTH_MAX = 4;
const MEMBERS_MAX = 50;

/** One line of JSON without its line break. */
export function logLine({ timeMs, level, message, fields }: LogEntry): string {
  return JSON.stringify({ time: new Date(timeMs).toISOString(), level, message: cut(message), ...visibleMembers(fields, 0) });
}

function visible(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return cut(value);
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Error) return visibleError(value, depth);
  if (ArrayBuffer.isView(value)) return `${value.byteLength} bytes`;
  if (depth >= DEPTH_MAX) return '…';
  if (Array.isArray(value)) return value.slice(0, MEMBERS_MAX).map((member) => visible(member, depth + 1));
  return visibleMembers(value as Record<string, unknown>, depth + 1);
}

function visibleMembers(members: Readonly<Record<string, unknown>>, depth: number): Record<string, unknown> {
  const shown = Object.entries(members).slice(0, MEMBERS_MAX);
  return Object.fromEntries(shown.map(([name, value]) => [name, SECRET.test(name) ? '[hidden]' : visible(value, depth)]));
}

/** The chain of causes, without what libraries hang on to their errors (requests with their headers). */
function visibleError(error: Error, depth: number): unknown {
  const code = error instanceof KelpError ? error.code : (error as NodeJS.ErrnoException).code;
  const cause = error.cause === undefined || depth >= DEPTH_MAX ? {} : { cause: visible(error.cause, depth + 1) };
  return { name: error.name, ...(code === undefined ? {} : { code }), message: cut(error.message), ...cause };
}

function cut(text: string): string {
  return text.length <= TEXT_LENGTH_MAX ? text : `${text.slice(0, TEXT_LENGTH_MAX)}…`;
}
