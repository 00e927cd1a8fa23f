import type { TopicId } from '../model/ids.ts';
import type { Random } from '../ports/random.ts';

const RANDOM_LENGTH = 15;

/** One that nobody has. */
export const newTopicId = (random: Random): TopicId => `t${random.base36(RANDOM_LENGTH)}` as TopicId;
