import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { passOn, type PassedAnswer, type Passing, receive, reply } from '../../infra/bench/pass-on.ts';

export type { Passing };

/**
 * What becomes of a request.
 * `hold`: waits before it is forwarded (and isn't if its sender has gone meanwhile), `hold-answer`: is forwarded, and its answer
 * waits; both until the planting ends.
 * `drop`: not forwarded, the connection is cut. `lose-answer`: forwarded, and the connection is cut once the answer is there.
 * `late`: the connection is cut, and it is forwarded afterwards. `cut-answer`: half of the answer's body comes, then the end.
 * `delay`: forwarded after a while. `answer`: answered so, and not forwarded, or forwarded all the same.
 */
export type Fault =
  | { readonly kind: 'hold' | 'hold-answer' | 'drop' | 'lose-answer' | 'late' | 'cut-answer' }
  | { readonly kind: 'delay'; readonly ms: number }
  | { readonly kind: 'answer'; readonly status: number; readonly body: string; readonly forwarded?: true };

export type Planting = {
  readonly matches: (request: Passing) => boolean;
  readonly fault: Fault;
  /** From which matching request on; default the first. */
  readonly from?: number;
  /** How many of them; default one. */
  readonly count?: number;
};

export type Planted = {
  /** Resolves when the fault has struck the first time: held, cut, or answered. */
  readonly struck: Promise<void>;
  /** How often it has. */
  times(): number;
  /** No more of it; what is held goes on. */
  end(): void;
};

export type FaultProxy = {
  readonly url: string;
  /** Of several that match, the one that was planted first strikes. */
  plant(planting: Planting): Planted;
  /** Ends all that is planted. */
  clear(): void;
  close(): Promise<void>;
};

/** Told of each request that was forwarded, with the status of its answer, though nobody may wait for that any more. */
export type Witness = (request: Passing, status: number) => void;

type Strike = { readonly fault: Fault; readonly ended: Promise<void>; readonly hit: () => void };
type Rule = { strike(request: Passing): Strike | undefined; end(): void };

const LOCAL = '127.0.0.1';

/** Stands before a store or a table, and passes requests on. */
export async function startFaultProxy(target: string, witness: Witness = () => undefined): Promise<FaultProxy> {
  const rules = new Set<Rule>();
  const agent = new Agent({ keepAlive: true, maxSockets: Infinity });
  const server = createServer({ keepAliveTimeout: 60_000 }, (incoming, outgoing) => {
    handle({ rules, agent, witness, target: new URL(target) }, incoming, outgoing).catch(() => incoming.socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, LOCAL, resolve));
  return {
    url: `http://${LOCAL}:${(server.address() as AddressInfo).port}`,
    plant: (planting) => plant(rules, planting),
    clear: () => {
      for (const rule of rules) rule.end();
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      agent.destroy();
      await closed;
    },
  };
}

function plant(rules: Set<Rule>, { matches, fault, from = 1, count = 1 }: Planting): Planted {
  const first = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  let matched = 0;
  let times = 0;
  const hit = (): void => {
    times += 1;
    first.resolve();
  };
  const rule: Rule = {
    strike(request) {
      if (!matches(request)) return undefined;
      matched += 1;
      return matched >= from && matched < from + count ? { fault, ended: ended.promise, hit } : undefined;
    },
    end() {
      rules.delete(rule);
      ended.resolve();
    },
  };
  rules.add(rule);
  return { struck: first.promise, times: () => times, end: () => rule.end() };
}

type Context = { readonly rules: ReadonlySet<Rule>; readonly agent: Agent; readonly target: URL; readonly witness: Witness };

async function handle(context: Context, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const request = await receive(incoming);
  const strike = strikeOf(context.rules, request);
  if (strike !== undefined) await suffer({ context, request, outgoing }, strike);
  else reply(outgoing, await forward(context, request));
}

function strikeOf(rules: ReadonlySet<Rule>, request: Passing): Strike | undefined {
  for (const rule of rules) {
    const strike = rule.strike(request);
    if (strike !== undefined) return strike;
  }
  return undefined;
}

type Exchange = { readonly context: Context; readonly request: Passing; readonly outgoing: ServerResponse };

async function suffer({ context, request, outgoing }: Exchange, { fault, ended, hit }: Strike): Promise<void> {
  switch (fault.kind) {
    case 'hold':
      hit();
      await Promise.race([ended, once(outgoing, 'close')]);
      if (!outgoing.destroyed) reply(outgoing, await forward(context, request));
      return;
    case 'hold-answer': {
      const answer = await forward(context, request);
      hit();
      await ended;
      reply(outgoing, answer);
      return;
    }
    case 'drop':
      outgoing.destroy();
      hit();
      return;
    case 'lose-answer':
      await forward(context, request);
      outgoing.destroy();
      hit();
      return;
    case 'late':
      outgoing.destroy();
      await forward(context, request);
      hit();
      return;
    case 'cut-answer': {
      const { status, headers, body } = await forward(context, request);
      outgoing.writeHead(status, { ...headers, 'content-length': String(body.length) });
      outgoing.write(body.subarray(0, body.length / 2), () => outgoing.destroy());
      hit();
      return;
    }
    case 'delay':
      hit();
      await sleep(fault.ms);
      reply(outgoing, await forward(context, request));
      return;
    case 'answer':
      if (fault.forwarded === true) await forward(context, request);
      reply(outgoing, { status: fault.status, headers: {}, body: Buffer.from(fault.body) });
      hit();
  }
}

async function forward(context: Context, request: Passing): Promise<PassedAnswer> {
  const answer = await passOn(context, request);
  context.witness(request, answer.status);
  return answer;
}
