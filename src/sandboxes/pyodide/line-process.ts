import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { Socket } from 'node:net';

/** How a process that answers a line with a line is started. */
export interface LineCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

const ABORTS: readonly NodeJS.Signals[] = ['SIGABRT', 'SIGTRAP', 'SIGILL'];

/**
 * A child process that prints one line when it is ready and then answers every line with one line.
 *
 * It never keeps this process alive by itself, and ends when this process does: its input closes. What it is asked must be
 * asked one at a time.
 */
export class LineProcess {
  private readonly child: ChildProcess;
  /** Of a line that has not ended yet. */
  private begun: string[] = [];
  private waiting: ((line: string | null) => void) | null = null;
  private hasEnded = false;
  private wasKilled = false;
  /** Somebody else ended it, for instance a system that had no memory left. */
  killedFromOutside = false;
  /** It ended itself because it could not go on, as JavaScript does where its memory is full. */
  hasAborted = false;
  /** The first line; null when the process ended before. */
  readonly ready: Promise<string | null>;

  constructor({ program, args, environment }: LineCommand) {
    this.child = spawn(program, [...args], {
      env: { ...environment },
      stdio: ['pipe', 'pipe', 'ignore'],
      cwd: '/',
    });
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.hear(text);
    });
    const end = (): void => {
      this.hasEnded = true;
      this.settle(null);
    };
    this.child.on('error', end);
    this.child.on('close', (_code, signal) => {
      this.killedFromOutside = signal === 'SIGKILL' && !this.wasKilled;
      this.hasAborted = signal !== null && ABORTS.includes(signal);
      end();
    });
    // A process that died between two questions shows as a closed pipe; `close` reports it.
    this.child.stdin?.on('error', () => {
      this.hasEnded = true;
    });
    this.ready = this.nextLine();
    this.release();
  }

  get isAlive(): boolean {
    return !this.hasEnded;
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  /** The answer, or null when the process dies before it has one. */
  ask(question: string): Promise<string | null> {
    if (this.hasEnded) return Promise.resolve(null);
    const answer = this.nextLine();
    this.child.stdin?.write(`${question.replaceAll('\n', ' ')}\n`);
    return answer;
  }

  /** Ends it at once; a question under way is answered with null. */
  kill(): void {
    this.hasEnded = true;
    this.wasKilled = true;
    this.child.kill('SIGKILL');
    this.settle(null);
  }

  /** Only a line feed ends a line: node:readline of some releases takes U+2028 for an end as well, which JSON leaves in texts. */
  private hear(text: string): void {
    const [end = '', ...lines] = text.split('\n');
    this.begun.push(end);
    for (const next of lines) {
      this.settle(this.begun.join(''));
      this.begun = [next];
    }
  }

  private nextLine(): Promise<string | null> {
    return new Promise((resolve) => {
      this.waiting = resolve;
    });
  }

  private settle(line: string | null): void {
    const { waiting } = this;
    this.waiting = null;
    waiting?.(line);
  }

  private release(): void {
    this.child.unref();
    // Pipes of a child are sockets, whatever their declared type.
    for (const stream of [this.child.stdin, this.child.stdout]) if (stream instanceof Socket) stream.unref();
  }
}
