import { createRequire } from 'node:module';
import { z } from 'zod';

const Actions = z.object({ TABLE_ACTIONS: z.record(z.string(), z.array(z.string())) });

/** What the role of each function allows with the table, as its name in the table's API: what serverless.yml reads. */
export const TABLE_ACTIONS = Actions.parse(createRequire(import.meta.url)('./roles.cjs')).TABLE_ACTIONS;
