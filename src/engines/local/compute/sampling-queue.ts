import { DomainError } from '../../../core/errors';
import { userError } from './check-request';
import { FEWEST_SEQUENCES, URGENCY } from './decode';
import { floatsForSampling } from './working-memory';
import type { DecodeOutput, DecodingSequence, PrefillOutput } from './decode';
import type { StretchScores } from './sampling-scores';
import type { Pointer } from './kernels';
import type { PackedSampler, SamplingSequence, SamplingTask } from './sampling-task';
import type { SharedHeap } from './shared-heap';
import type { BackgroundWork, Demand, JobRequest } from './thread-pool';
import type { JobReply } from './compute-worker';

/** How long a thread draws before it looks for training work again. */
const QUANTUM_MS = 4;
/** A quantum that keeps nobody waiting saves hand-overs by going on until a sequence is done, but not for longer. */
const LONGEST_QUANTUM_MS = 32;
const MOST_PROMPT_ROWS = 128;
const MOST_SEQUENCES = 64;
/** Of all memory: the rest stays free for training. */
const CACHE_SHARE = 0.5;

type Quantum = ReturnType<BackgroundWork['next']>;

/** Which sequences go into the next quantum. Calls that are under way at the same time share quanta. */
export class SamplingQueue implements BackgroundWork {
  private readonly waiting: SamplingTask[] = [];
  private readonly admitted = new Set<SamplingTask>();
  private prompts: SamplingTask[] = [];
  private ready: SamplingSequence[] = [];
  private idleCallbacks: { readonly sampler: PackedSampler; readonly run: () => void }[] = [];
  private cacheFloatsInUse = 0;
  /** Sequences that threads are drawing for now, so that a thread leaves the others their share and no more. */
  private readonly decoding = new Map<PackedSampler, number>();
  /** A shared int32, one of `URGENCY`. */
  private readonly urgency: Pointer;

  constructor(
    private readonly heap: SharedHeap,
    private readonly threadCount: number,
  ) {
    this.urgency = heap.allocate(1, 'the queue of samples');
    this.setUrgency(URGENCY.none);
  }

  add(task: SamplingTask): void {
    this.waiting.push(task);
  }

  /** Ends a call early; what it holds is freed once no thread works on it. */
  cancel(task: SamplingTask, error: unknown): void {
    task.fail(error);
    const index = this.waiting.indexOf(task);
    if (index !== -1) this.waiting.splice(index, 1);
    this.prompts = this.prompts.filter((other) => other !== task);
    this.ready = this.ready.filter((sequence) => sequence.task !== task);
    if (task.inFlight > 0) this.setUrgency(URGENCY.waiting);
    this.releaseIfIdle(task);
  }

  cancelAll(belongs: (sampler: PackedSampler) => boolean, error: unknown): void {
    for (const task of [...this.waiting, ...this.admitted]) {
      if (belongs(task.options.sampler)) this.cancel(task, error);
    }
  }

  /** Calls back once no thread reads the sampler's weights any more. */
  whenIdle(sampler: PackedSampler, run: () => void): void {
    if (this.isBusy(sampler)) this.idleCallbacks.push({ sampler, run });
    else run();
  }

  next(): Quantum {
    this.admit();
    return this.nextPrefill() ?? this.nextDecode();
  }

  hurry({ waitingJobs, idleThreads }: Demand): void {
    const waiting = waitingJobs + this.waiting.length + this.prompts.length + this.ready.length;
    if (waiting > 0) this.setUrgency(URGENCY.waiting);
    else this.setUrgency(idleThreads > 0 ? URGENCY.idleThread : URGENCY.none);
  }

  private setUrgency(urgency: number): void {
    Atomics.store(this.heap.integers, this.urgency / 4, urgency);
  }

  private admit(): void {
    for (;;) {
      const [task] = this.waiting;
      if (task === undefined) return;
      const isAdmitted = this.hasRoom(task) && task.reserve(this.heap);
      if (!isAdmitted && this.admitted.size > 0) return;
      this.waiting.shift();
      if (isAdmitted) this.begin(task);
      else task.fail(outOfMemory());
    }
  }

  private hasRoom(task: SamplingTask): boolean {
    const wanted = this.cacheFloatsInUse + footprint(task);
    return wanted * 4 <= this.heap.bytesTotal * CACHE_SHARE;
  }

  private begin(task: SamplingTask): void {
    this.admitted.add(task);
    this.cacheFloatsInUse += footprint(task);
    if (task.drawsAtOnce(MOST_PROMPT_ROWS)) this.startDecoding(task);
    else this.prompts.push(task);
  }

  private startDecoding(task: SamplingTask): void {
    for (const sequence of task.sequences) if (!sequence.isDone) this.ready.push(sequence);
    this.settle(task);
  }

  private settle(task: SamplingTask): void {
    task.finishIfDone();
    this.releaseIfIdle(task);
  }

  private releaseIfIdle(task: SamplingTask): void {
    if (!task.isSettled || task.inFlight > 0 || !this.admitted.delete(task)) return;
    this.cacheFloatsInUse -= footprint(task);
    task.release(this.heap);
    const idle = this.idleCallbacks.filter(({ sampler }) => !this.isBusy(sampler));
    this.idleCallbacks = this.idleCallbacks.filter((callback) => !idle.includes(callback));
    for (const { run } of idle) run();
  }

  private isBusy(sampler: PackedSampler): boolean {
    return [...this.admitted].some((task) => task.options.sampler === sampler);
  }

  private nextPrefill(): Quantum {
    const [first] = this.prompts;
    if (first === undefined) return null;
    const { sampler } = first.options;
    const chosen: { task: SamplingTask; stretch: ReturnType<SamplingTask['nextStretch']> }[] = [];
    let rows = 0;
    for (const task of this.prompts) {
      if (task.options.sampler !== sampler || rows >= MOST_PROMPT_ROWS) continue;
      const stretch = task.nextStretch(MOST_PROMPT_ROWS - rows);
      rows += stretch.tokens.length;
      chosen.push({ task, stretch });
    }
    const tasks = new Set(chosen.map(({ task }) => task));
    this.prompts = this.prompts.filter((task) => !tasks.has(task));
    for (const task of tasks) task.inFlight += 1;
    return {
      request: this.request('prefill', sampler, {
        rows,
        input: { stretches: chosen.map(({ stretch }) => stretch) },
      }),
      settle: (reply) => {
        // oxlint-disable-next-line typescript/consistent-type-assertions -- the thread answers a prefill job
        const output = 'error' in reply ? null : (reply.output as PrefillOutput);
        for (const [index, { task, stretch }] of chosen.entries()) {
          task.inFlight -= 1;
          if (output === null) task.fail(computeFailed(reply));
          else if (!task.isSettled)
            guarded(task, () => {
              this.acceptStretch(task, stretch.tokens.length, output.scores[index] ?? null);
            });
          this.releaseIfIdle(task);
        }
      },
    };
  }

  private acceptStretch(task: SamplingTask, count: number, scores: StretchScores | null): void {
    task.acceptStretch(this.heap, count, scores);
    if (task.isPrefilled) this.startDecoding(task);
    else this.prompts.unshift(task);
  }

  private nextDecode(): Quantum {
    const [first] = this.ready;
    if (first === undefined) return null;
    const { sampler } = first.task.options;
    const candidates = this.ready.filter(({ task }) => task.options.sampler === sampler);
    const live = candidates.length + (this.decoding.get(sampler) ?? 0);
    const share = Math.ceil(live / this.threadCount);
    const chosen = candidates.slice(0, Math.min(MOST_SEQUENCES, Math.max(FEWEST_SEQUENCES, share)));
    const taken = new Set(chosen);
    this.ready = this.ready.filter((sequence) => !taken.has(sequence));
    for (const { task } of chosen) task.inFlight += 1;
    this.countDecoding(sampler, chosen.length);
    const sequences = chosen.map(({ state }) => state);
    return {
      request: this.request('decode', sampler, {
        rows: rowsAtATime(sequences),
        input: {
          sequences,
          quantumMs: QUANTUM_MS,
          // Texts that stop a sequence are looked for between quanta, and what was drawn after them is wasted.
          longestQuantumMs: chosen.some(({ task }) => task.hasStopTexts) ? QUANTUM_MS : LONGEST_QUANTUM_MS,
          urgency: this.urgency,
          mostPromptRows: MOST_PROMPT_ROWS,
        },
      }),
      settle: (reply) => {
        // oxlint-disable-next-line typescript/consistent-type-assertions -- the thread answers a decode job
        const output = 'error' in reply ? null : (reply.output as DecodeOutput);
        this.countDecoding(sampler, -chosen.length);
        for (const [index, sequence] of chosen.entries()) {
          sequence.task.inFlight -= 1;
          const decoded = output?.sequences[index];
          if (decoded === undefined) sequence.task.fail(computeFailed(reply));
          else if (!sequence.task.isSettled)
            guarded(sequence.task, () => {
              this.acceptTokens(sequence, decoded);
            });
          this.settle(sequence.task);
        }
      },
    };
  }

  private countDecoding(sampler: PackedSampler, change: number): void {
    const count = (this.decoding.get(sampler) ?? 0) + change;
    if (count === 0) this.decoding.delete(sampler);
    else this.decoding.set(sampler, count);
  }

  private acceptTokens(sequence: SamplingSequence, decoded: DecodeOutput['sequences'][number]): void {
    sequence.accept(decoded);
    if (!sequence.isDone) this.ready.push(sequence);
  }

  private request<Kind extends 'prefill' | 'decode'>(
    kind: Kind,
    { network }: PackedSampler,
    { rows, input }: { readonly rows: number; readonly input: Omit<JobRequest<Kind>['input'], 'network'> },
  ): JobRequest {
    const arenaFloats = floatsForSampling(network, rows);
    // oxlint-disable-next-line typescript/consistent-type-assertions -- the two halves of the input of a `kind` job
    return { kind, input: { network, ...input }, arenaFloats } as JobRequest;
  }
}

function rowsAtATime(sequences: readonly DecodingSequence[]): number {
  const promptRows = sequences.reduce((sum, { prompt }) => sum + prompt.length, 0);
  return Math.max(sequences.length, Math.min(MOST_PROMPT_ROWS, promptRows));
}

function footprint(task: SamplingTask): number {
  return task.cacheFloats * task.options.request.numSamples;
}

/** What goes wrong with one call's tokens, its text for instance, fails this call and nobody else's. */
function guarded(task: SamplingTask, accept: () => void): void {
  try {
    accept();
  } catch (error) {
    const what = error instanceof Error ? error.message : String(error);
    task.fail(
      new DomainError('request-failed', `Sampling failed: ${what}`, { category: 'server', cause: error }),
    );
  }
}

function computeFailed(reply: JobReply): DomainError {
  const message = 'error' in reply ? reply.error : 'A compute thread answered too little.';
  return new DomainError('request-failed', message, { category: 'server' });
}

function outOfMemory(): DomainError {
  return userError(
    'The request needs more memory than the local engine has. Lower num_samples or max_tokens.',
  );
}
