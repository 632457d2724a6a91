import { PATIENCE } from '../used-time';

/** A Python package in a file, unmodified from its index. */
export interface PythonWheel {
  /** Name and version as the interpreter reports them. */
  readonly name: string;
  readonly version: string;
  /** Absolute path. */
  readonly path: string;
  readonly sha256: string;
}

/** A program that defines `answer(text) -> text` and, run as a script with limits in its arguments, answers lines. */
export interface PythonProgram {
  readonly name: string;
  /** Absolute path of the source. */
  readonly path: string;
  readonly wheels: readonly PythonWheel[];
  /** Questions that are asked at the start, so that the first real one is as fast as the others. */
  readonly warmUp: readonly string[];
  readonly memoryLimitBytes: number;
  /** Processor time a question may take. */
  readonly questionLimitMs: number;
  /** For a program that runs what nobody trusts. */
  readonly hostile?: HostileLimits;
}

interface HostileLimits {
  /** Of the whole process: interpreter, program, files. */
  readonly processBytes: number;
  readonly diskBytes: number;
  readonly answerBytes: number;
}

const GRACE_MS = 1000;

/** Under a question, on the clock: only a process that nobody is left to kill gets there. */
export function endsItselfAfterMs({ questionLimitMs }: PythonProgram): number {
  return questionLimitMs * PATIENCE + GRACE_MS;
}
