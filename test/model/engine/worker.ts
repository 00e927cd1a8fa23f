import { parentPort, workerData } from 'node:worker_threads';
import type { Job } from './run-job.ts';
import { patchSource } from './patch-source.ts';

// A thread of its own for each search: the product's code is loaded anew, with small limits, and a rule taken away or not.

const job = workerData as Job;
const patches = patchSource(job.patches, job.limits);
const { check } = await import('./check.ts');
const verdict = await check(job, (states, depth) => parentPort?.postMessage({ progress: { states, depth } }));
patches.assertLoaded();
parentPort?.postMessage({ verdict });
