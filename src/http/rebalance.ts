import { nextKind, readJson, readString } from '../format/json-reader.ts';
import { invalid } from '../model/errors.ts';
import { isTopicName } from '../model/ids.ts';
import type { Bytes } from '../model/message.ts';
import type { HeldBack, HotKey, MergeReason, PlannedOutcome, SplitReason, TopicPlan } from '../model/scaling.ts';
import { okJson } from './answer.ts';
import type { Handler } from './call.ts';
import type { ControlDependencies } from './dependencies.ts';
import { readDryRun, readMembers } from './json-members.ts';
import { optionalBody } from './optional-body.ts';
import { parseQuery } from './query.ts';
import { rounded } from './rounded.ts';

const text = new TextDecoder();

/** A topic that is named is read anew: a remembered one may be gone. No query: `?dryRun=true` would not be one. */
export function createRebalance(deps: ControlDependencies): Handler {
  const { topics, control } = deps;
  return async (call) => {
    parseQuery(call.context.req.url, []);
    const { dryRun, name } = parseAsked(await optionalBody(deps, call));
    const topic = name === undefined ? {} : { topic: await topics.resolve(name, { fresh: true }, call.signal) };
    const plans = await control.rebalance({ ...topic, dryRun }, call.signal);
    return okJson({ topics: plans.map(documentOf) });
  };
}

type Asked = { readonly dryRun: boolean; readonly name?: string };

/** `{"topic": name, "dryRun": boolean}`. Errors `invalid-json`, `invalid-request`, `invalid-topic`, `invalid-dry-run`. */
function parseAsked(body: Bytes | undefined): Asked {
  if (body === undefined) return { dryRun: false };
  const reader = readJson(body);
  let asked: Asked = { dryRun: false };
  const members = {
    topic() {
      const name = nextKind(reader) === 'string' ? text.decode(readString(reader)) : '';
      if (!isTopicName(name)) throw invalid('invalid-topic', 'topic', 'a topic is [a-z0-9][a-z0-9._-]{0,127}');
      asked = { ...asked, name };
    },
    dryRun: () => (asked = { ...asked, dryRun: readDryRun(reader) }),
  };
  readMembers(reader, new Map(Object.entries(members)));
  return asked;
}

// Member by member: what the planner tells is more than what is promised.

const documentOf = (plan: TopicPlan): Record<string, unknown> => ({
  topic: plan.name,
  segments: plan.segments,
  changes: plan.changes.map(changeOf),
  hotKeys: plan.hotKeys.map(hotKeyOf),
  held: plan.held.map(heldOf),
});

const changeOf = (change: PlannedOutcome): Record<string, unknown> => ({
  kind: change.kind,
  ...(change.kind === 'split' ? { segment: change.segment, at: change.at } : { segments: change.segments }),
  reason: reasonOf(change.reason),
  children: change.children,
  refused: change.refused,
});

function reasonOf(reason: SplitReason | MergeReason): Record<string, unknown> {
  const { why } = reason;
  const load = rounded(reason.load);
  if (why === 'quiet') return { why, load, loadMax: rounded(reason.loadMax), average: rounded(reason.average) };
  return why === 'minimum' ? { why, load, minSegments: reason.minSegments } : { why, load, measure: reason.measure };
}

const hotKeyOf = ({ segment, lo, hi, share, load }: HotKey): Record<string, unknown> => ({
  segment,
  lo,
  hi,
  share: rounded(share),
  load: rounded(load),
});

const heldOf = ({ segment, why, load }: HeldBack): Record<string, unknown> => ({ segment, why, load: rounded(load) });
