import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { ProtocolError } from '../../src/engines/local/server/protocol-error';
import { DomainError } from '../../src/core/errors';
import { RequestError } from '../../src/server/http/request-error';

/** A parser of bytes that others wrote. */
export interface FuzzTarget {
  /** Its folder in `corpus`. */
  readonly name: string;
  /** Inputs that are mutated besides those of its folder: well-formed ones, so that what lies behind the first check is reached. */
  readonly seeds: () => readonly (string | Uint8Array)[];
  /** Texts that mean something to this parser; put in anywhere. */
  readonly words?: readonly string[];
  run(bytes: Uint8Array): unknown;
  /** What a proper refusal is; default: the errors by which the project tells people what is wrong. */
  readonly isRefusal?: (error: unknown) => boolean;
  readonly close?: () => Promise<void>;
}

export function isOwnError(error: unknown): boolean {
  return error instanceof DomainError || error instanceof RequestError || error instanceof ProtocolError;
}

/** What no input may do. */
export interface Finding {
  readonly what: 'threw' | 'slow' | 'memory' | 'hung';
  readonly text: string;
}

const MOST_MS = 2000;
const MOST_BYTES = 256 * 1024 * 1024;

/** Runs one input. One that took long counts only where it does so again: what is compiled and loaded is so once. */
export async function findFault(target: FuzzTarget, bytes: Uint8Array): Promise<Finding | null> {
  const first = await measure(target, bytes);
  if (first === null || first.what === 'threw') return first;
  return measure(target, bytes);
}

async function measure(target: FuzzTarget, bytes: Uint8Array): Promise<Finding | null> {
  const heapBefore = usedBytes();
  const before = process.cpuUsage();
  const fault = await failureOf(target, bytes);
  const { user, system } = process.cpuUsage(before);
  const milliseconds = (user + system) / 1000;
  const grown = usedBytes() - heapBefore;
  if (fault !== null) return { what: 'threw', text: fault };
  if (milliseconds > MOST_MS)
    return { what: 'slow', text: `${Math.round(milliseconds)} ms of processor time` };
  return grown > MOST_BYTES ? { what: 'memory', text: `${Math.round(grown / 2 ** 20)} MiB more` } : null;
}

async function failureOf(target: FuzzTarget, bytes: Uint8Array): Promise<string | null> {
  const { isRefusal = isOwnError } = target;
  try {
    await target.run(bytes);
    return null;
  } catch (error) {
    if (isRefusal(error)) return null;
    return error instanceof Error ? (error.stack ?? error.message) : String(error);
  }
}

function usedBytes(): number {
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** Lines of it that tell one fault from another. */
export function kindOfFinding({ what, text }: Finding): string {
  const [message = '', place = ''] = text.split('\n');
  return what === 'threw' ? `${message.slice(0, 80)} ${place.trim().replace(/:\d+:\d+\)?$/, '')}` : what;
}

export function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('utf8');
}

/** undefined where it is no JSON: bodies are then refused before anything here sees them. */
export function jsonOf(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(textOf(bytes));
  } catch {
    return undefined;
  }
}

/** Each has its chance, whether the one before was refused or not. */
export async function passAll(calls: readonly (() => unknown)[], isRefusal = isOwnError): Promise<void> {
  for (const call of calls) {
    try {
      await call();
    } catch (error) {
      if (!isRefusal(error)) throw error;
    }
  }
}

const scratch: string[] = [];

/** A folder of its own for the input of a target whose parser reads files; it goes when the process ends, or with `removeScratch`. */
export function scratchFolder(name: string): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), `everstep-fuzz-${name}-`));
  if (scratch.length === 0) process.once('exit', removeScratch);
  scratch.push(folder);
  return folder;
}

/** For those whose process goes on, as test runners' do. */
export function removeScratch(): void {
  for (const folder of scratch.splice(0)) rmSync(folder, { recursive: true, force: true });
}
