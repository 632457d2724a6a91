import { DomainError } from '../../core/errors';
import type { PythonAsk } from '../../core/python';

export interface AskOptions {
  /** Calls the work off. */
  readonly signal?: AbortSignal;
  /** Hears what is waited for, and null when it is waited for no longer. */
  readonly onWaiting?: (reason: string | null) => void;
  /** Waiting longer than this for a worker throws `unreachable`; the same work asked for again is the same work. */
  readonly patienceMs?: number;
  /** Nobody else will ask for this work: it is called off when waiting for a worker took too long. */
  readonly isForThisAskerOnly?: boolean;
}

/** The way to Python workers. Asking for what is under way already attaches to it: an attempt that died loses nothing. */
export interface PythonLink {
  ask(work: PythonAsk, options: AskOptions): Promise<unknown>;
}

/** For places that have no way to Python workers, e.g. a program that evaluates without a server. */
export function requireLink(link: PythonLink | undefined, what: string): PythonLink {
  if (link) return link;
  throw new DomainError(
    'bad-plugin',
    `${what} is written in Python, which only evaluations and training runs on workers reach. Use one in TypeScript here.`,
  );
}
