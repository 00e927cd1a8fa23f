import { PLANS_LINES_MAX } from '../model/scaling-limits.ts';
import type { TopicPlan } from '../model/scaling.ts';

const linesOf = ({ changes, hotKeys, held }: TopicPlan): number => 1 + changes.length + hotKeys.length + held.length;

/** The first of them, as many as one answer may have: what is beyond is done as well, and told of a topic by itself. */
export function boundPlans(plans: readonly TopicPlan[]): readonly TopicPlan[] {
  let lines = 0;
  const end = plans.findIndex((plan) => (lines += linesOf(plan)) > PLANS_LINES_MAX);
  return end === -1 ? plans : plans.slice(0, end);
}
