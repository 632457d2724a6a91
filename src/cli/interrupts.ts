import { EXIT } from './exit-codes';

/** Ctrl-C and termination asked of a command, as a signal it can end by itself on. */
export interface Interrupts {
  readonly signal: AbortSignal;
  /** Gives the signals back to whoever handled them before. */
  dispose(): void;
}

const NAMES = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** The first one asks the command to end; the second one ends the process on the spot. */
export function catchInterrupts(): Interrupts {
  const controller = new AbortController();
  const onSignal = () => {
    if (controller.signal.aborted) process.exit(EXIT.interrupted);
    controller.abort();
  };
  for (const name of NAMES) process.on(name, onSignal);
  return {
    signal: controller.signal,
    dispose: () => {
      for (const name of NAMES) process.off(name, onSignal);
    },
  };
}
