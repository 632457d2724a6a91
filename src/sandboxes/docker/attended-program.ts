import { Duplex, PassThrough } from 'node:stream';
import { LONGEST_TIMER_MS } from '../../core/longest-timer';
import { BoundedText } from '../bounded-text';
import type { SandboxLimit, SilenceLimit } from '../sandbox';
import { OUTPUT_FLOOD } from '../sandbox';
import { watchSilence } from '../watch-silence';
import type { DockerEngine } from './docker-engine';

export interface AttendedProgram {
  readonly stdin: string | Uint8Array;
  readonly outputBytes: number;
  readonly timeoutMs: number;
  readonly silence?: SilenceLimit | undefined;
  readonly signal: AbortSignal | undefined;
}

export interface AttendedOutput {
  readonly stdout: BoundedText;
  readonly stderr: BoundedText;
  /** What we stopped listening for; null where the program ended, or the engine did. */
  readonly limit: SandboxLimit | null;
}

/** Gives a program its input and keeps its output until it ends, has used up its time, or says too much. */
export function attendProgram(
  { modem }: Pick<DockerEngine, 'modem'>,
  stream: NodeJS.ReadWriteStream,
  { stdin, outputBytes, timeoutMs, silence, signal }: AttendedProgram,
): Promise<AttendedOutput> {
  const stdout = new BoundedText(outputBytes);
  const stderr = new BoundedText(outputBytes);
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => {
        settle('time');
      },
      Math.min(timeoutMs, LONGEST_TIMER_MS),
    );
    const onAbort = () => {
      settle('time');
    };
    const start = performance.now();
    const stopListening = watchSilence({
      silence,
      heardLines: () => stdout.lineCount,
      usedMs: () => performance.now() - start,
      onLimit: onAbort,
    });
    const forget = () => {
      clearTimeout(timer);
      stopListening();
      signal?.removeEventListener('abort', onAbort);
    };
    function settle(limit: SandboxLimit | null): void {
      forget();
      if (limit !== null) hangUp(stream);
      resolve({ stdout, stderr, limit });
    }
    const collect = (text: BoundedText) =>
      new PassThrough().on('data', (chunk: Buffer) => {
        text.add(chunk);
        if (text.totalBytes > outputBytes * OUTPUT_FLOOD) settle('output');
      });
    modem.demuxStream(stream, collect(stdout), collect(stderr));
    signal?.addEventListener('abort', onAbort, { once: true });
    stream.on('end', () => {
      settle(null);
    });
    stream.on('error', (error: unknown) => {
      forget();
      reject(error instanceof Error ? error : new Error(String(error)));
    });
    // A connection that is cut says `close` alone; after `end` the promise is settled already.
    stream.on('close', () => {
      forget();
      reject(new Error('the engine closed the connection'));
    });
    stream.end(stdin);
  });
}

/** What it still says is nobody's. */
function hangUp(stream: NodeJS.ReadWriteStream): void {
  if (stream instanceof Duplex) stream.destroy();
}
