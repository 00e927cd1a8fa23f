import { json } from 'node:stream/consumers';
import { explainError } from '../../src/cli/explain-error.ts';
import { latencyLoad, postLoad, readLoad } from './lean-kelp.ts';
import { submitLoad } from './lean-references.ts';
import { getLoad, putLoad, updateLoad } from './lean-raw.ts';
import type { ClientLoad, LoadResult } from './load.ts';

// One load by Kelp's own clients: the description on standard input, the result on standard output.
function run(load: ClientLoad): Promise<LoadResult> {
  switch (load.mode) {
    case 'put':
      return putLoad(load);
    case 'get':
      return getLoad(load);
    case 'update':
      return updateLoad(load);
    case 'post':
      return postLoad(load);
    case 'read':
      return readLoad(load);
    case 'submit':
      return submitLoad(load);
    case 'latency':
      return latencyLoad(load);
  }
}

try {
  console.log(JSON.stringify(await run((await json(process.stdin)) as ClientLoad)));
} catch (error) {
  console.error(explainError(error));
  process.exitCode = 1;
}
process.exit();
