import type { Peers } from '../../ports/peers.ts';
import { createSignedPeers, type PeersDeps } from '../peers/signed-peers.ts';
import { createFetchExchange } from './fetch-exchange.ts';

export const createFetchPeers = (deps: PeersDeps): Peers => createSignedPeers({ ...deps, connect: createFetchExchange });
