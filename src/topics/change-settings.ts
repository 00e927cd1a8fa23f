import { KelpError } from '../model/errors.ts';
import { CHANGE_ATTEMPTS_MAX } from '../model/limits.ts';
import type { SettingsChange, Topic } from '../model/topic.ts';
import { type TopologyDeps, writeTopic } from '../topology/apply-change.ts';
import { readActive } from './read-active.ts';
import { changedSettings } from './settings.ts';

/**
 * Changes a topic's settings on its version: whatever others write meanwhile stands, and is what the change is put together
 * with. Pending changes of its segments are neither waited for nor touched. Errors `topic-not-found`, `invalid-settings`,
 * `invalid-schema`.
 */
export async function changeSettings(deps: TopologyDeps, name: string, change: SettingsChange, signal: AbortSignal): Promise<Topic> {
  for (let attempt = 0; attempt < CHANGE_ATTEMPTS_MAX; attempt += 1) {
    const topic = await readActive(deps, name, signal);
    const settings = changedSettings(topic.settings, change);
    // Also where a write has landed whose answer was lost.
    if (settings === undefined) return topic;
    const written = await writeTopic(deps, topic, { ...topic, settings, version: topic.version + 1 }, signal);
    if (written !== undefined) return written;
  }
  throw new KelpError('unavailable', 'unavailable', 'the topic changes too fast', { retryAfterMs: 1_000 });
}
