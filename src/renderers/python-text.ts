import { jsonText } from '../core/json-source';
import { respaceJson } from './json-text';

const LITERALS = new Map<unknown, string>([
  [true, 'True'],
  [false, 'False'],
  [null, 'None'],
]);

/** A value as chat templates, which are Python, write it into a text: lists and objects as JSON, the rest by `str`. */
export function pythonText(value: unknown): string {
  if (typeof value === 'string') return value;
  return LITERALS.get(value) ?? respaceJson(jsonText(value));
}
