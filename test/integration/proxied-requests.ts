import type { Fault, Passing } from './fault-proxy.ts';

// Which of a broker's requests a fault strikes, and what real services answer when they fail.

const COMMIT_ID = /^[0-9a-z]{22}$/;

export const isObjectPut = ({ method, path }: Passing): boolean => method === 'PUT' && path.includes('/log/');
export const isObjectGet = ({ method, path }: Passing): boolean => method === 'GET' && path.includes('/log/');

/** A commit: the update of a head that counts another one. A spill and a kill don't. */
export function isCommit(request: Passing): boolean {
  return isAccess(request, 'UpdateItem', 'h#') && attributesOf(request).includes('commits');
}

/** The id under which it commits. */
export function commitIdOf(request: Passing): string {
  const id = attributesOf(request).find((name) => COMMIT_ID.test(name));
  if (id === undefined) throw new Error('this is no commit');
  return id;
}

/** The segments that a broker's heartbeat names as throttled; of any other request none. */
export function throttledIn(request: Passing): string[] {
  if (!isAccess(request, 'UpdateItem', 'b#')) return [];
  const values = Object.values((JSON.parse(request.body.toString()) as Access).ExpressionAttributeValues ?? {});
  return values.flatMap(({ L = [] }) => L.flatMap(({ M }) => (M['throttled']?.N === '0' ? [] : (M['segment']?.S ?? []))));
}

/** The update that takes entries out of a head. */
export function isSpill(request: Passing): boolean {
  return isAccess(request, 'UpdateItem', 'h#') && attributesOf(request).includes('ht');
}

/** Reads and updates of heads, commits too. */
export function isHeadAccess(request: Passing): boolean {
  return isAccess(request, 'UpdateItem', 'h#') || isAccess(request, 'GetItem', 'h#');
}

export const isPagePut = (request: Passing): boolean => isAccess(request, 'PutItem', 'p#');
export const isRequestPut = (request: Passing): boolean => isAccess(request, 'PutItem', 'i#');
export const isAny = (): boolean => true;

type Attributes = Readonly<Record<string, { readonly S?: string; readonly N?: string }>>;
type Access = {
  readonly Key?: { readonly pk: { readonly S: string } };
  readonly Item?: { readonly pk: { readonly S: string } };
  readonly ExpressionAttributeNames?: Readonly<Record<string, string>>;
  readonly ExpressionAttributeValues?: Readonly<Record<string, { readonly L?: readonly { readonly M: Attributes }[] }>>;
};

function isAccess({ operation, body }: Passing, wanted: string, prefix: string): boolean {
  if (operation !== wanted) return false;
  const { Key, Item } = JSON.parse(body.toString()) as Access;
  return (Key ?? Item)?.pk.S.startsWith(prefix) ?? false;
}

function attributesOf({ body }: Passing): string[] {
  return Object.values((JSON.parse(body.toString()) as Access).ExpressionAttributeNames ?? {});
}

const tableAnswer = (status: number, name: string): Fault => ({
  kind: 'answer',
  status,
  body: JSON.stringify({ __type: `com.amazonaws.dynamodb.v20120810#${name}`, message: name }),
});
export const throughputExceeded = tableAnswer(400, 'ProvisionedThroughputExceededException');
export const throttling = tableAnswer(400, 'ThrottlingException');
export const conflict = tableAnswer(400, 'TransactionConflictException');
export const tableFailed = tableAnswer(500, 'InternalServerError');

const storeAnswer = (status: number, code: string): Fault => ({
  kind: 'answer',
  status,
  body: `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>${code}</Message></Error>`,
});
export const slowDown = storeAnswer(503, 'SlowDown');
export const storeFailed = storeAnswer(500, 'InternalError');

/** The failure is in the answer alone: what was asked for is done. */
export const yetDone = (fault: Fault): Fault => (fault.kind === 'answer' ? { ...fault, forwarded: true } : fault);
