import { createFetchStore } from '../src/adapters/fetch/fetch-store.ts';
import { createFetchTable } from '../src/adapters/fetch/fetch-table.ts';
import { createSystemClock } from '../src/adapters/system/clock.ts';
import { assembleEdge } from '../src/cli/assemble-edge.ts';
import { createEdgeHandler } from '../src/cli/edge-handler.ts';

// A worker at the edge: takes and hands out messages. Everything that it needs to know comes by environment, its credentials too.
const clock = createSystemClock();
const write = (line: string): void => console.log(line);

export default createEdgeHandler({
  clock,
  write,
  assemble: (configuration, probed) =>
    assembleEdge(configuration, {
      table: createFetchTable({ ...configuration.table, clock }),
      store: createFetchStore({ ...configuration.store, clock }),
      clock,
      write,
      probed,
    }),
});
