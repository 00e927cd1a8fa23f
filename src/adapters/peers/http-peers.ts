import type { Peers } from '../../ports/peers.ts';
import { keptConnections } from '../signed-http/exchange.ts';
import { createSignedPeers, type PeersDeps } from './signed-peers.ts';

/** Signed requests to other brokers, over kept connections. */
export const createHttpPeers = (deps: PeersDeps): Peers => createSignedPeers({ ...deps, connect: keptConnections(deps.clock) });
