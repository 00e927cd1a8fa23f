import type { Condition, Item, Key, Query, QueryPage, Update } from '../../ports/metadata-table.ts';
import type { AttributeCodec, Attributes } from './attribute-value.ts';
import { compileExpressions } from './expressions.ts';

// The bodies of the API's requests. The SDK takes the same members as the wire, except for bytes, which the codec settles.

export function createRequests<B>(table: string, { encodeMap }: AttributeCodec<B>) {
  const target = (key: Key) => ({ TableName: table, Key: keyAttributes(key) });

  /** Placeholders with the values in the API's form. */
  function placeholders(names?: Record<string, string>, values?: Item) {
    return {
      ...(names === undefined ? {} : { ExpressionAttributeNames: names }),
      ...(values === undefined ? {} : { ExpressionAttributeValues: encodeMap(values) }),
    };
  }

  function expressions(condition: Condition, update?: Update) {
    const compiled = compileExpressions(condition, update?.changes);
    return {
      ...placeholders(compiled.names, compiled.values),
      ...(compiled.condition === undefined ? {} : { ConditionExpression: compiled.condition }),
      ...(compiled.update === undefined ? {} : { UpdateExpression: compiled.update }),
      // A refusal answers with the item that it was refused on: the caller never has to guess why.
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
    };
  }

  return {
    get: (key: Key) => ({ ...target(key), ConsistentRead: true }),
    put: (key: Key, item: Item, condition: Condition) => ({
      TableName: table,
      Item: { ...encodeMap(item), ...keyAttributes(key) } as Attributes<B>,
      ...expressions(condition),
    }),
    update: (key: Key, update: Update) => ({ ...target(key), ...expressions(update.condition, update), ReturnValues: 'ALL_NEW' as const }),
    delete: (key: Key, condition: Condition) => ({ ...target(key), ...expressions(condition), ReturnValues: 'ALL_OLD' as const }),
    query(query: Query) {
      const range = rangeCondition(query);
      return {
        TableName: table,
        ConsistentRead: true,
        KeyConditionExpression: range.text,
        ExpressionAttributeNames: range.names,
        ExpressionAttributeValues: encodeMap(range.values),
        ScanIndexForward: query.descending !== true,
        // One more than asked, so that `more` is exact: the API says 'more' whenever it stopped at the limit.
        Limit: query.limit + 1,
      };
    },
  };
}

function keyAttributes({ pk, sk }: Key) {
  return { pk: { S: pk }, sk: { S: sk } };
}

/** An empty lower bound is none: the API refuses an empty key, and every key is above it. */
function rangeCondition({ pk, from = '', to }: Query): { text: string; names: Record<string, string>; values: Record<string, string> } {
  if (from === '' && to === undefined) return { text: '#p = :p', names: { '#p': 'pk' }, values: { ':p': pk } };
  const names = { '#p': 'pk', '#s': 'sk' };
  if (to === undefined) return { text: '#p = :p AND #s >= :f', names, values: { ':p': pk, ':f': from } };
  if (from === '') return { text: '#p = :p AND #s <= :t', names, values: { ':p': pk, ':t': to } };
  return { text: '#p = :p AND #s BETWEEN :f AND :t', names, values: { ':p': pk, ':f': from, ':t': to } };
}

/** An answer to {@link createRequests}' query. */
export function queryPage(query: Query, items: readonly Item[], stoppedEarly: boolean): QueryPage {
  if (items.length > query.limit) return { items: items.slice(0, query.limit), more: true };
  return { items, more: stoppedEarly };
}

/** The API refuses a range that ends before it begins; here it is simply empty. */
export function isEmptyRange({ from = '', to }: Query): boolean {
  return to !== undefined && (to === '' || Buffer.compare(Buffer.from(from), Buffer.from(to)) > 0);
}
