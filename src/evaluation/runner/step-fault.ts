import { inspect } from 'node:util';
import type { EnvironmentStep, Observation } from '../../core/environment';
import { escapeControls } from '../../core/escape-controls';
import { faultOfJson } from '../json-fault';

const MOST_SHOWN = 80;

/**
 * Why a step cannot be counted or stored, in a few words; null where it can. A grader or an environment may be plain JavaScript: a
 * metric that is no finite number would be another number in the result, and what is no JSON would end the whole benchmark.
 */
export function faultOfStep(step: EnvironmentStep, grader: string | null): string | null {
  const fault = isRecord(step)
    ? faultIn(step, grader !== null)
    : `a step must be an object, not ${shown(step)}`;
  return fault === null || grader === null ? fault : `${escapeControls(grader)}: ${fault}`;
}

/** Why what an environment begins with cannot be stored; null where it can. */
export function faultOfObservation({ messages, tools }: Observation): string | null {
  return faultOfJson('messages', messages) ?? faultOfJson('tools', tools);
}

function faultIn({ reward, metrics, answer, nextMessages, logs }: EnvironmentStep, isGrader: boolean) {
  if (!Number.isFinite(reward)) return `the reward must be a finite number, not ${shown(reward)}`;
  return (
    faultOfMetrics(metrics) ??
    faultOfJson('answer', answer) ??
    faultOfJson('nextMessages', nextMessages) ??
    faultOfLogs(logs, isGrader)
  );
}

function faultOfMetrics(metrics: unknown): string | null {
  if (metrics === undefined || metrics === null) return null;
  if (!isRecord(metrics)) return `metrics must be an object of numbers, not ${shown(metrics)}`;
  const wrong = Object.entries(metrics).find(([, value]) => value !== undefined && !Number.isFinite(value));
  if (wrong === undefined) return null;
  const [name, value] = wrong;
  return `metric "${cut(name)}" must be a finite number, not ${shown(value)}`;
}

/** What a grader explains is kept among the logs, under the names it gives. */
function faultOfLogs(logs: unknown, isGrader: boolean): string | null {
  for (const [key, value] of Object.entries(isRecord(logs) ? logs : {})) {
    const fault = faultOfJson(isGrader ? key : `logs.${cut(key)}`, value);
    if (fault !== null) return fault;
  }
  return null;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function shown(value: unknown): string {
  return cut(inspect(value, { depth: 0, breakLength: Infinity, customInspect: false }));
}

function cut(text: string): string {
  return escapeControls(text.slice(0, MOST_SHOWN));
}
