import type { Item, Key, Path } from '../../../src/ports/metadata-table.ts';
import type { Process } from './process.ts';
import type { Found } from './search.ts';
import type { Request } from './shared-table.ts';
import type { State, Step, World } from './world.ts';

/** A fault's shortest way, a line a step: who, what, and what came of it. */
export function describeTrace(world: World, found: Found<State, Step>): string[] {
  const lines = found.trace.map((step, index) => {
    const who = step.process === 'late' ? '(network)' : (world.scope.processes[step.process] as Process).name;
    const request = world.shared.request(step.request);
    return `${String(index + 1).padStart(3)}. ${who.padEnd(10)} ${describeRequest(request).padEnd(56)} ${step.outcome}`;
  });
  return [...lines, ...describeState(world, found.states.at(-1) as State), `     fault: ${found.fault}`];
}

function describeState(world: World, state: State): string[] {
  const items = state.items.flatMap((id, slot) => {
    const item = world.shared.itemOf(id);
    const key = world.shared.keyOfSlot(slot);
    return item === undefined || key === undefined ? [] : [`     ${nameOf(key)}: ${describeItem(item)}`];
  });
  const processes = state.locals.map((id, index) => {
    const { state: own, pending } = world.locals.local(id);
    const name = (world.scope.processes[index] as Process).name;
    return `     ${name}: ${pending.length === 0 ? 'ended' : 'at work'} ${JSON.stringify(own)}`;
  });
  return [...items, ...processes];
}

function describeRequest(request: Request): string {
  switch (request.op) {
    case 'get':
      return `get ${nameOf(request.key)}`;
    case 'query':
      return `query ${shortKey(request.query.pk)} ${request.query.descending === true ? 'at or below' : 'from'} ${shortSort(request.query.to ?? '')}`;
    case 'put':
      return `put ${nameOf(request.key)} ${describeItem(request.item)}`;
    case 'delete':
      return `delete ${nameOf(request.key)}`;
    case 'update':
      return `update ${nameOf(request.key)} ${request.update.changes.filter(isTelling).map(describeChange).join(' ')}`;
  }
}

type Change = (Request & { readonly op: 'update' })['update']['changes'][number];

const COUNTERS = new Set(['messages', 'bytes', 'commits', 'hist', 'ht', 'm']);
const isTelling = (change: Change): boolean => (change.op === 'remove' ? change.path[0] !== 'm' : !COUNTERS.has(String(change.path[0])));

function describeChange(change: Change): string {
  const path = describePath(change.path);
  if (change.op === 'remove') return `-${path}`;
  if (change.op === 'copy') return `${path}=${describePath(change.from)}`;
  return `${path}${change.op === 'add' ? '+' : ''}=${short(JSON.stringify(change.value))}`;
}

const describePath = (path: Path): string => path.map((step) => short(String(step))).join('.');

/** Commit ids by their time and instance; offsets without their zeros. */
function short(text: string): string {
  return text.replaceAll(/0{4,}([0-9a-z]*?)([a-z])\2{6,}0*([0-9a-z]+)/g, '$1$2$3');
}

const shortKey = (pk: string): string => pk.replace(/#[a-z0-9]{16}(#|$)/, '#').replace(/#$/, '');
/** Offsets without their zeros; files by their offsets alone. */
const shortSort = (sk: string): string => sk.replace(/^topics.*\//, '').replaceAll(/(^[a-z]|^|-)0+(?=\d)/g, '$1');

function nameOf({ pk, sk }: Key): string {
  return sk === 'head' ? shortKey(pk) : `${shortKey(pk)}/${shortSort(sk)}`;
}

const TELLING = [
  'state',
  'tail',
  'h',
  'g',
  'f',
  'c',
  'p',
  'ev',
  'first',
  'last',
  'next',
  'ah',
  'ga',
  'start',
  'rows',
  'e',
  'n',
  'b',
  'entries',
  'version',
  'open',
  'changes',
  'nextSegment',
  'brokers',
];

function describeItem(item: Item): string {
  const parts = TELLING.flatMap((name) => {
    const value = item[name];
    if (value === undefined) return [];
    const shown = name === 'entries' ? (value as readonly Item[]).map((entry) => `${String(entry['i'])}@${String(entry['c'])}`) : value;
    return [`${name}=${short(JSON.stringify(shown)).replaceAll('"', '')}`];
  });
  return parts.length === 0 ? short(JSON.stringify(item)) : parts.join(' ');
}
