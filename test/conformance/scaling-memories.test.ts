import { createLeanTable } from '../../src/adapters/dynamodb/lean-table.ts';
import { createRecordingTelemetry } from '../../src/adapters/memory/recording-telemetry.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { createStoredMemory } from '../../src/control/scaling/stored-memory.ts';
import { freshTable } from '../stack.ts';
import { describeScalingMemory } from './scaling-memory.ts';

const START_MS = 30_000;
const clock = createSystemClock();

for (const kind of ['dynoxide', 'ministack'] as const) {
  describeScalingMemory(kind, async () => {
    const table = createLeanTable({ ...(await freshTable(kind, AbortSignal.timeout(START_MS))), clock });
    return createStoredMemory({ table, clock, telemetry: createRecordingTelemetry() });
  });
}
