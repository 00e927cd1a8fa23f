import { PARTITIONS } from '../../src/model/limits.ts';
import type { SeededRandom } from '../../test/simulation/seeded-random.ts';
import { settingsOf, type Trace } from './trace.ts';
import { createWeights, keyWeights, mixWeights } from './weights.ts';

const MINUTE = 60;
const HOUR = 3_600;
const TARGET = 1_000;
const KEYS = 100_000;

/** Loads are in times a segment's target. */
type Plan = Partial<Omit<Trace, 'flowAt' | 'name'>> & { readonly load: (second: number) => number; readonly target?: number };

const uniform = (random: SeededRandom): Float64Array => keyWeights(random, KEYS, () => 1);

function traceOf(name: string, perPartition: Float64Array, { load, target = TARGET, ...rest }: Plan): Trace {
  const weights = createWeights(perPartition);
  return {
    name,
    seconds: 2 * HOUR,
    warmUpSeconds: 30 * MINUTE,
    topics: 1,
    segments: 4,
    settings: settingsOf(target),
    rises: [],
    ...rest,
    flowAt: (second) => ({ messagesPerSecond: load(second) * target, weights }),
  };
}

type Maker = (random: SeededRandom) => Trace;

const step: Maker = (random) =>
  traceOf('step x10', uniform(random), { load: (second) => (second < 10 * MINUTE ? 2.4 : 24), rises: [10 * MINUTE] });

const spike: Maker = (random) =>
  traceOf('spike x100 30 s', uniform(random), {
    seconds: HOUR,
    segments: 2,
    load: (second) => (second >= 10 * MINUTE && second < 10 * MINUTE + 30 ? 100 : 1),
    rises: [10 * MINUTE],
  });

const dayAndNight: Maker = (random) =>
  traceOf('day and night', uniform(random), {
    seconds: 24 * HOUR,
    segments: 2,
    load: (second) => 6.25 - 5.75 * Math.cos((2 * Math.PI * second) / (24 * HOUR)),
  });

/** A segment's target more each minute, for an hour. */
const ramp: Maker = (random) =>
  traceOf('ramp', uniform(random), { segments: 2, load: (second) => 1 + Math.min(HOUR, Math.max(0, second)) / MINUTE });

/** One key comes to carry five times what a segment is to carry, beside three times that of all others. */
const hotKey: Maker = (random) => {
  const base = uniform(random);
  const single = new Float64Array(PARTITIONS);
  single[random.integer(PARTITIONS)] = 1;
  const calm = createWeights(base);
  const hot = createWeights(
    mixWeights([
      [base, 3 / 8],
      [single, 5 / 8],
    ]),
  );
  const at = 10 * MINUTE;
  return {
    ...traceOf('one hot key', base, { load: () => 3, rises: [at] }),
    flowAt: (second) => (second < at ? { messagesPerSecond: 3 * TARGET, weights: calm } : { messagesPerSecond: 8 * TARGET, weights: hot }),
  };
};

const zipf: Maker = (random) =>
  traceOf(
    'zipf 1.1',
    keyWeights(random, KEYS, (n) => 1 / (n + 1) ** 1.1),
    {
      load: (second) => (second < 10 * MINUTE ? 2 : 20),
      rises: [10 * MINUTE],
    },
  );

/** Of few messages, so that chance adds its own ups and downs to the wave's. */
const plateau: Maker = (random) =>
  traceOf('plateau', uniform(random), {
    seconds: 4 * HOUR,
    target: 100,
    load: (second) => 4 * (second < 0 ? 0.8 : 1 + 0.06 * Math.sin((2 * Math.PI * second) / (17 * MINUTE))),
  });

const idle: Maker = (random) =>
  traceOf('1000 idle topics', uniform(random), {
    topics: 1_000,
    seconds: HOUR,
    warmUpSeconds: 0,
    load: (second) => (second % (7 * MINUTE) < 5 ? 0.01 : 0),
  });

/** A crowd on a sixteenth of the partitions, which is elsewhere every five minutes. */
const flashCrowd: Maker = (random) => {
  const base = uniform(random);
  const places = [0, 9, 3, 12, 6, 15, 1, 10, 4, 13, 7, 2];
  const flows = places.map((place) => {
    const width = PARTITIONS / 16;
    const crowd = new Float64Array(PARTITIONS).fill(1, place * width, (place + 1) * width);
    return createWeights(
      mixWeights([
        [base, 1 / 6],
        [crowd, 5 / 6],
      ]),
    );
  });
  const from = 10 * MINUTE;
  const until = from + places.length * 5 * MINUTE;
  const calm = createWeights(base);
  return {
    ...traceOf('flash crowd', base, { load: () => 2, rises: places.map((_, n) => from + n * 5 * MINUTE) }),
    flowAt: (second) => {
      const weights = second < from ? undefined : flows[Math.floor((second - from) / (5 * MINUTE))];
      if (weights === undefined || second >= until) return { messagesPerSecond: 2 * TARGET, weights: calm };
      return { messagesPerSecond: 12 * TARGET, weights };
    },
  };
};

/** Twenty minutes past each full hour, as the schedule says; the day before had none after six. */
const announced: Maker = (random) =>
  traceOf('announced flood', uniform(random), {
    seconds: 4 * HOUR,
    segments: 2,
    settings: settingsOf(TARGET, [{ cron: '20 0-5 * * *', durationSeconds: 20 * MINUTE, minSegments: 32 }]),
    load: (second) => (second >= 0 && second % HOUR >= 20 * MINUTE && second % HOUR < 40 * MINUTE ? 20 : 1),
    rises: [0, 1, 2, 3].map((hour) => hour * HOUR + 20 * MINUTE),
  });

const MAKERS = {
  step,
  spike,
  day: dayAndNight,
  ramp,
  'hot-key': hotKey,
  zipf,
  plateau,
  idle,
  crowd: flashCrowd,
  announced,
};

export type TraceName = keyof typeof MAKERS;
export const TRACE_NAMES = Object.keys(MAKERS) as readonly TraceName[];
export const makeTrace = (name: TraceName, random: SeededRandom): Trace => MAKERS[name](random);
