import { DomainError } from '../core/errors';

/** What a program was stopped by, or could not have more of. */
export type SandboxLimit = 'time' | 'cpu' | 'memory' | 'disk' | 'processes' | 'output';

export interface SandboxLimits {
  /** Processor time of a process. */
  readonly cpuSeconds: number;
  /** All processes of a program together. */
  readonly memoryBytes: number;
  /** Files of a sandbox together; also the largest file. */
  readonly diskBytes: number;
  readonly processCount: number;
  /** How much of each of standard output and error is kept. */
  readonly outputBytes: number;
}

/** How long a program may go without a further line on its standard output. */
export interface SilenceLimit {
  readonly limitMs: number;
  /** So many lines count, so that what they say of progress is bounded too. */
  readonly lineCount: number;
}

export interface ExecOptions {
  readonly stdin?: string;
  /** All the program finds in its environment beside a plain PATH, HOME and locale. */
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
  /** A program that stops, or blocks what would end it, is seen from outside; it ends as one whose time is up. */
  readonly silence?: SilenceLimit;
  readonly limits?: Partial<SandboxLimits>;
  /** Ends the program; `exec` then throws the signal's reason. */
  readonly signal?: AbortSignal;
}

export interface ExecResult {
  /** As a shell tells it: 128 and the signal's number where a signal ended the program. Null where we ended it. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Only the beginning is there. */
  readonly isStdoutCut: boolean;
  readonly isStderrCut: boolean;
  readonly limit: SandboxLimit | null;
  readonly seconds: number;
}

/**
 * A place to run programs nobody trusts: no network, nothing of this machine's files and environment, bounded in every way.
 *
 * Paths are relative to the programs' working folder, which lives as long as the sandbox. Programs run one at a time, and
 * nothing that they started outlives them. Throws `sandbox-lost` where the sandbox itself failed, which says nothing of the
 * program: whoever asked does it again in another sandbox.
 */
export interface Sandbox {
  /** Which implementation it is, for the record. */
  readonly kind: string;
  exec(argv: readonly string[], options?: ExecOptions): Promise<ExecResult>;
  writeFile(path: string, content: string | Uint8Array): Promise<void>;
  readFile(path: string): Promise<Uint8Array>;
  /** Leaves nothing behind; may be called again. */
  close(): Promise<void>;
  /**
   * This place as it was when it was opened, where that costs less than opening another one; the sandbox itself is over then. Null where
   * it cannot be told that nothing of its programs is left: it has to be closed.
   */
  renew?(): Promise<Sandbox | null>;
}

export type Availability =
  | { readonly isAvailable: true; readonly found: string }
  | { readonly isAvailable: false; readonly reason: string };

/** One way to make sandboxes. */
export interface SandboxKind {
  readonly name: string;
  /** Opening one takes long enough to keep some ready. */
  readonly isSlowToOpen: boolean;
  availability(): Promise<Availability>;
  open(): Promise<Sandbox>;
}

/** What a plug-in file exports as `sandboxFactory`. */
export type SandboxFactory = () => Sandbox | Promise<Sandbox>;

const MEBIBYTE = 1024 * 1024;

export const DEFAULT_LIMITS: SandboxLimits = {
  cpuSeconds: 30,
  memoryBytes: 512 * MEBIBYTE,
  diskBytes: 64 * MEBIBYTE,
  processCount: 32,
  outputBytes: MEBIBYTE,
};

export const DEFAULT_TIMEOUT_MS = 60_000;

/** More output than this many times what is kept ends the program. */
export const OUTPUT_FLOOD = 16;

const READ_LIMIT_BYTES = 64 * MEBIBYTE;

/** Longest file that is read out of a sandbox. */
export function checkReadSize(path: string, bytes: number): void {
  if (bytes <= READ_LIMIT_BYTES) return;
  throw new DomainError(
    'refused',
    `sandbox: ${path} has ${bytes} bytes, more than the ${READ_LIMIT_BYTES} that are read out of a sandbox. Write less.`,
  );
}

/** A path inside the working folder, without `..`. */
export function checkedPath(path: string): string {
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  if (!path.startsWith('/') && parts.length > 0 && !parts.includes('..') && !path.includes('\0'))
    return parts.join('/');
  throw new DomainError(
    'refused',
    `sandbox: ${JSON.stringify(path)} is no path in the working folder. Give one such as "solution.py".`,
  );
}

export function sandboxLost(kind: string, reason: string, cause?: unknown): DomainError {
  return new DomainError('sandbox-lost', `The ${kind} sandbox was lost: ${reason}. It is tried again.`, {
    retryable: true,
    cause,
  });
}
