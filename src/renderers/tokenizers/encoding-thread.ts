import { existsSync } from 'node:fs';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { DomainError } from '../../core/errors';
import type { FilesOfTokenizer } from './create-tokenizer';
import type { EncodingAnswer, EncodingQuestion } from './encoding-worker';

interface Task {
  readonly question: EncodingQuestion;
  readonly resolve: (tokens: number[]) => void;
  readonly reject: (error: unknown) => void;
}

/** A thread holds a tokenizer of its own, which takes memory and is made in a second or two. */
const IDLE_MS = 10_000;

/** Encodes large texts beside the event loop, one after another. An idle thread ends, and keeps no process alive. */
export class EncodingThread {
  private worker: Worker | null = null;
  private current: Task | null = null;
  private readonly waiting: Task[] = [];
  private idle: NodeJS.Timeout | undefined;

  constructor(private readonly files: FilesOfTokenizer) {}

  encode(question: EncodingQuestion): Promise<number[]> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ question, resolve, reject });
      this.next();
    });
  }

  private next(): void {
    if (this.current) return;
    clearTimeout(this.idle);
    this.current = this.waiting.shift() ?? null;
    if (this.current) {
      this.worker ??= this.start();
      this.worker.ref();
      this.worker.postMessage(this.current.question);
      return;
    }
    this.worker?.unref();
    this.idle = setTimeout(() => {
      void this.worker?.terminate();
      this.worker = null;
    }, IDLE_MS).unref();
  }

  private start(): Worker {
    const worker = startWorker(this.files);
    worker.on('message', (answer: EncodingAnswer) => {
      this.settle(answer);
    });
    worker.on('error', (error) => {
      if (this.worker === worker) this.worker = null;
      this.settle({ error: String(error), code: null });
    });
    return worker;
  }

  private settle(answer: EncodingAnswer): void {
    const task = this.current;
    this.current = null;
    if (task && 'tokens' in answer) task.resolve([...answer.tokens]);
    else if (task && 'error' in answer) task.reject(failureOf(task.question, answer));
    this.next();
  }
}

function failureOf(
  { text }: EncodingQuestion,
  { error, code }: Extract<EncodingAnswer, { error: string }>,
): DomainError {
  if (code !== null) return new DomainError(code, error);
  return new DomainError(
    'refused',
    `A text of ${text.length} characters, "${text.slice(0, 80)}…", cannot be turned into tokens here: ${error}. Shorten it, or give the process more memory.`,
  );
}

/** Compiled, the thread's entry lies beside this file; from the TypeScript sources it is loaded through jiti. */
function startWorker(workerData: FilesOfTokenizer): Worker {
  const compiled = path.join(__dirname, 'encoding-worker.js');
  if (existsSync(compiled)) return new Worker(compiled, { workerData });
  const entry = JSON.stringify(path.join(__dirname, 'encoding-worker.ts'));
  const jiti = JSON.stringify(require.resolve('jiti'));
  return new Worker(`require(${jiti})(${entry}, { interopDefault: false })(${entry})`, {
    eval: true,
    workerData,
  });
}
