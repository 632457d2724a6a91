import { escapeControls } from '../core/escape-controls';
import { messageOf } from './error-message';

const MOST_SHOWN = 120;

/** Why a value of a plug-in cannot be stored as JSON, e.g. a cycle or a BigInt; null where it can. `name` says what it is. */
export function faultOfJson(name: string, value: unknown): string | null {
  if (value === undefined || value === null || typeof value === 'string') return null;
  try {
    JSON.stringify(value);
    return null;
  } catch (error) {
    // Further lines draw the cycle.
    const [reason = ''] = messageOf(error).split('\n');
    return `${name} cannot be stored as JSON: ${escapeControls(reason.slice(0, MOST_SHOWN))}`;
  }
}
