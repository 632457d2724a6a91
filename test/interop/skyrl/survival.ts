/**
 * `everstep train configs/sft-skyrl-cpu.yaml` against a real SkyRL server, while its worker and then the server are
 * killed with -9. SkyRL recognises no resent request and is not taken to be deterministic, so each death is a rewind
 * to the last checkpoint with optimizer state, in a new lineage.
 */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { cleanEnvironment, PROGRAM, ROOT, runProgram } from '../processes';
import type { Check } from './checks';
import { expectEqual, expectSmall, runChecks } from './checks';
import type { SkyrlServer } from './server';
import { largestDifference } from './trained-model';

export interface SurvivalPlan {
  readonly server: SkyrlServer;
  readonly model: string;
  readonly folder: string;
}

const RUN = 'skyrl';
const TWIN = 'undisturbed';
const STEPS = 60;
const EVAL_EVERY = 20;
const SAVE_EVERY = 10;
const KILL_WORKER_AT = 14;
const KILL_SERVER_AT = 37;
const DOWN_MS = 2000;
const TRAIN_MS = 20 * 60_000;
const POLL_MS = 50;
const LAST_WORDS = 3000;
/** A model that says the same of every token has ln(vocabulary); this one is drawn close to that. */
const UNTRAINED_NLL = Math.log(261);
/** Steps sent ahead and not yet in the journal: nobody can say whether they were applied. */
const MOST_IN_FLIGHT = 3;
/** Twins round the same way; what is left is what other requests were in a batch. */
const LARGEST_DIFFERENCE = 1e-3;
const ENVIRONMENT = cleanEnvironment({ TINKER_API_KEY: 'tml-local' });
const CONFIG = path.join(ROOT, 'configs/sft-skyrl-cpu.yaml');

const MetricsRow = z.object({ step: z.int(), 'train/nll': z.number() });
const Shown = z.object({
  status: z.string(),
  rewinds: z.int(),
  stepsReplayed: z.int(),
  lineage: z.int().optional(),
});
const ScoreRow = z.object({
  step: z.int(),
  evaluator: z.string(),
  metric: z.string(),
  value: z.number().nullable(),
});
const CheckpointLine = z.object({ step: z.int(), lineage: z.int() });
const Stack = z.object({ children: z.array(z.object({ name: z.string(), pid: z.int() })) });

export async function checkSurvival(plan: SurvivalPlan, onCheck: (check: Check) => void): Promise<Check[]> {
  const survival = new Survival(plan);
  try {
    return await runChecks(survival.checks(), onCheck);
  } finally {
    await survival.end();
  }
}

class Survival {
  private train: ChildProcess | null = null;
  private words = '';
  private readonly deaths: number[] = [];
  private applied = 0;
  private rewinds = 0;

  constructor(private readonly plan: SurvivalPlan) {}

  checks(): readonly (readonly [string, () => Promise<string>])[] {
    return [
      ['train configs/sft-skyrl-cpu.yaml', () => this.begin()],
      ['kill -9 of the worker', () => this.killWorker()],
      ['kill -9 of SkyRL', () => this.killServer()],
      ['kill -9 of SkyRL when only evaluations are left', () => this.killEvaluated()],
      ['the run completes', () => this.finish()],
      ['each step once', () => this.stepsOnce()],
      ['the loss is that of an untrained model, then falls', () => this.lossFalls()],
      ['rewinds and replayed steps are counted', () => this.rewindsCounted()],
      ['evaluations are done', () => this.evaluated()],
      ['checkpoints are those of their lineages', () => this.checkpointed()],
      ['every step as in an undisturbed twin', () => this.compareTwin()],
    ];
  }

  async end(): Promise<void> {
    const { train } = this;
    if (train === null || train.exitCode !== null || train.signalCode !== null) return;
    const ended = new Promise((resolve) => train.once('exit', resolve));
    train.kill('SIGTERM');
    await Promise.race([ended, pause(20_000)]);
  }

  private async begin(): Promise<string> {
    const train = spawn(process.execPath, this.arguments(RUN), {
      cwd: this.plan.folder,
      env: ENVIRONMENT,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const listen = (text: string): void => {
      this.words = (this.words + text).slice(-LAST_WORDS);
    };
    train.stdout.setEncoding('utf8').on('data', listen);
    train.stderr.setEncoding('utf8').on('data', listen);
    this.train = train;
    return `at step ${await this.reaches(KILL_WORKER_AT)}`;
  }

  private arguments(run: string): string[] {
    const settings = {
      model: this.plan.model,
      'engine.url': this.plan.server.url,
      steps: STEPS,
      saveEvery: SAVE_EVERY,
      evalEvery: EVAL_EVERY,
    };
    const sets = Object.entries(settings).flatMap(([key, value]) => ['--set', `${key}=${String(value)}`]);
    const places = ['--data-dir', this.dataFolder];
    return [PROGRAM, 'train', CONFIG, '--run', run, ...places, ...sets];
  }

  private async killWorker(): Promise<string> {
    const file = path.join(this.dataFolder, 'stack.json');
    const { children } = Stack.parse(JSON.parse(readFileSync(file, 'utf8')));
    const pid = children.find(({ name }) => name === 'worker')?.pid;
    if (pid === undefined) throw new Error('the stack names no worker');
    process.kill(pid, 'SIGKILL');
    this.deaths.push(this.step);
    return `at step ${this.step}; on at step ${await this.reaches(this.step + 1)}`;
  }

  private async killServer(): Promise<string> {
    await this.reaches(KILL_SERVER_AT);
    const { server } = this.plan;
    await server.kill();
    const at = this.step;
    this.deaths.push(at);
    await pause(DOWN_MS);
    await server.start();
    return `at step ${at}; on at step ${await this.reaches(at + 1)}`;
  }

  /** Nothing is to be trained again then, but the models that were sampled are gone with the server. */
  private async killEvaluated(): Promise<string> {
    await this.reaches(STEPS);
    await this.plan.server.kill();
    const isDone = this.finalScores() > 0;
    await this.plan.server.start();
    if (isDone) throw new Error('the last evaluation was done before the server was killed');
    return 'before its scores were written';
  }

  private finalScores(): number {
    return this.rows('scores.jsonl', ScoreRow).filter(({ step }) => step === STEPS).length;
  }

  private async finish(): Promise<string> {
    const { train } = this;
    if (train === null) throw new Error('it never began');
    const deadline = performance.now() + TRAIN_MS;
    while (train.exitCode === null && performance.now() < deadline) await pause(POLL_MS);
    if (train.exitCode !== 0) throw new Error(`exit ${String(train.exitCode)}: ${this.words}`);
    this.applied = this.plan.server.appliedSteps();
    return (this.words.trimEnd().split('\n').at(-1) ?? '').slice(0, 200);
  }

  private stepsOnce(): Promise<string> {
    const steps = this.rows('metrics.jsonl', MetricsRow).map(({ step }) => step);
    expectEqual('steps', steps.join(' '), Array.from({ length: STEPS }, (_, index) => index + 1).join(' '));
    return Promise.resolve(`1 to ${STEPS}`);
  }

  private lossFalls(): Promise<string> {
    const losses = this.rows('metrics.jsonl', MetricsRow).map((row) => row['train/nll']);
    const [first = Number.NaN, last = Number.NaN] = [losses[0], losses.at(-1)];
    if (!(Math.abs(first - UNTRAINED_NLL) < 0.3)) throw new Error(`the first loss is ${first}`);
    if (!(last < first - 0.5)) throw new Error(`from ${first} to ${last}`);
    return Promise.resolve(`${first.toFixed(3)} (uniform ${UNTRAINED_NLL.toFixed(3)}) to ${last.toFixed(3)}`);
  }

  /** SkyRL's own log says what was trained again: what was counted, and what was in flight when something died. */
  private async rewindsCounted(): Promise<string> {
    const { stdout, code, stderr } = await runProgram(
      [process.execPath, PROGRAM, 'runs', 'show', RUN, '--json', '--data-dir', this.dataFolder],
      { environment: cleanEnvironment(), timeoutMs: TRAIN_MS },
    );
    if (code !== 0) throw new Error(stderr);
    const shown = Shown.parse(JSON.parse(stdout));
    expectEqual('status', shown.status, 'completed');
    // SkyRL's death always costs a rewind; a worker's does so only within a segment, not between two of them.
    if (shown.rewinds < 1 || shown.rewinds > this.deaths.length)
      throw new Error(`${shown.rewinds} rewinds, expected 1 to ${this.deaths.length}`);
    // Opening a model takes a step that trains nothing: it clears what another left in its slot.
    const extra = this.applied - STEPS - (shown.rewinds + 1);
    this.rewinds = shown.rewinds;
    const untold = extra - shown.stepsReplayed;
    if (untold < 0 || untold > this.deaths.length * MOST_IN_FLIGHT)
      throw new Error(
        `${shown.stepsReplayed} steps replayed, and SkyRL applied ${extra} more than there are`,
      );
    return `${shown.rewinds} rewinds, ${shown.stepsReplayed} steps replayed; SkyRL applied ${this.applied} in all`;
  }

  private evaluated(): Promise<string> {
    const rows = this.rows('scores.jsonl', ScoreRow);
    const failed = rows.filter(({ metric, value }) => metric === 'error' || value === null);
    if (failed.length > 0) throw new Error(JSON.stringify(failed));
    const found = rows.map(({ step, evaluator, metric }) => `${step} ${evaluator} ${metric}`).sort();
    const steps = Array.from({ length: STEPS / EVAL_EVERY + 1 }, (_, index) => index * EVAL_EVERY);
    const metrics = ['arithmetic accuracy', 'test bpb', 'test nll'];
    const due = steps.flatMap((step) => metrics.map((metric) => `${step} ${metric}`)).sort();
    expectEqual('scores', found.join(', '), due.join(', '));
    const inOrder = rows.filter(({ metric }) => metric === 'nll').sort((a, b) => a.step - b.step);
    const nll = inOrder.map(({ value }) => value?.toFixed(3));
    return Promise.resolve(`at steps ${steps.join(', ')}; test nll ${nll.join(', ')}`);
  }

  private checkpointed(): Promise<string> {
    const rows = this.rows('checkpoints.jsonl', CheckpointLine);
    const due = Array.from({ length: STEPS / SAVE_EVERY + 1 }, (_, index) => index * SAVE_EVERY);
    expectEqual('checkpoints', rows.map(({ step }) => step).join(' '), due.join(' '));
    const lineages = rows.map(({ lineage }) => lineage);
    expectEqual('last lineage', lineages.at(-1), this.rewinds);
    return Promise.resolve(`lineages ${lineages.join(' ')}`);
  }

  /** A step that counted twice or not at all, or an optimizer that lost its moments, would show in every loss after it. */
  private async compareTwin(): Promise<string> {
    const words = [process.execPath, ...this.arguments(TWIN)];
    const options = { folder: this.plan.folder, environment: ENVIRONMENT, timeoutMs: TRAIN_MS };
    const { code, stderr } = await runProgram(words, options);
    if (code !== 0) throw new Error(`exit ${String(code)}: ${stderr}`);
    const [losses, twins] = [RUN, TWIN].map((run) =>
      this.rows('metrics.jsonl', MetricsRow, run).map((row) => row['train/nll']),
    );
    return expectSmall(largestDifference([losses ?? []], [twins ?? []]), LARGEST_DIFFERENCE);
  }

  /** Waits until a step is in the journal; a run that ends before is an error. */
  private async reaches(step: number): Promise<number> {
    const deadline = performance.now() + TRAIN_MS;
    while (this.step < step) {
      if (this.train === null || this.train.exitCode !== null || performance.now() > deadline)
        throw new Error(`step ${step} was not reached: ${this.words}`);
      await pause(POLL_MS);
    }
    return this.step;
  }

  private get step(): number {
    return this.rows('metrics.jsonl', MetricsRow).at(-1)?.step ?? 0;
  }

  private get dataFolder(): string {
    return path.join(this.plan.folder, 'state');
  }

  /** Rows of a file of the run; a last line that is being written is left out. */
  private rows<Row>(file: string, schema: z.ZodType<Row>, run = RUN): Row[] {
    const place = path.join(this.dataFolder, 'store/runs', run, file);
    if (!existsSync(place)) return [];
    const lines = readFileSync(place, 'utf8').split('\n').slice(0, -1);
    return lines.map((line) => schema.parse(JSON.parse(line)));
  }
}
