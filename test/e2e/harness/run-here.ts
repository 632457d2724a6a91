import { Readable, Writable } from 'node:stream';
import { main } from '../../../src/cli/main';

/** How a command ended. */
export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * The program in this process: what a command says and how it ends, without the second that a process of its own takes to
 * start. One at a time, since it has streams, environment and exit code to itself.
 */
export async function runHere(args: readonly string[], variables: NodeJS.ProcessEnv): Promise<Ended> {
  const said = { stdout: '', stderr: '' };
  const recording = (name: keyof typeof said) =>
    new Writable({
      decodeStrings: false,
      write(text, _encoding, done) {
        said[name] += String(text);
        done();
      },
    });
  const listeners = SIGNALS.map((name) => [name, process.listeners(name)] as const);
  const restore = replaceOfProcess({
    stdin: Readable.from([]),
    stdout: recording('stdout'),
    stderr: recording('stderr'),
    env: variables,
    exitCode: 0,
    exit: (code: number) => (process.exitCode = code),
  });
  try {
    await main(['node', 'everstep', ...args]);
    return { code: Number(process.exitCode), ...said };
  } finally {
    restore();
    // A command that fails leaves its own to the end of its process.
    for (const [name, before] of listeners) {
      const added = process.listeners(name).filter((listener) => !before.includes(listener));
      for (const listener of added) process.off(name, listener);
    }
  }
}

function replaceOfProcess(values: Readonly<Record<string, unknown>>): () => void {
  const own = Object.keys(values).map(
    (name) => [name, Object.getOwnPropertyDescriptor(process, name)] as const,
  );
  for (const [name, value] of Object.entries(values))
    Object.defineProperty(process, name, { value, configurable: true, writable: true });
  return () => {
    for (const [name, descriptor] of own)
      if (descriptor) Object.defineProperty(process, name, descriptor);
      else Reflect.deleteProperty(process, name);
  };
}
