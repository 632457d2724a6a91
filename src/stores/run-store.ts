import { randomUUID } from 'node:crypto';
import { readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ControlRow } from '../core/controls';
import { hasErrorCode } from '../core/error-code';
import { DomainError } from '../core/errors';
import { largestOf } from '../core/extremes';
import { isValidName, validateName } from '../core/names';
import type { CheckpointRow, MetricsRow, RunState, ScoreRow, TimingRow } from '../core/run';
import type { RunEvent } from '../core/timeline';
import type { ModelIncarnation, SentRow } from '../core/training-plan';
import type { Journal, JournalSpec } from './fenced-journal';
import { openJournal } from './fenced-journal';
import { readJsonLines } from './json-lines';
import { readLastRow } from './last-row';
import { keepRunFolders } from './make-folder';
import { otherOwner } from './other-owner';
import { readWholeFile } from './reading';
import type { RunJournals } from './run-journals';
import { JOURNAL_KEYS } from './run-journals';
import * as rows from './run-rows';
import type { UnreadableState } from './run-state';
import { lookAtState, readState } from './run-state';
import type { StepSelection } from './step-rows';
import { readStepRows } from './step-rows';
import { createWholeFile, readJson, writeJson, writeWholeFile } from './whole-file';

/** The workflow a run belongs to; `firstRunId` tells a workflow from an older one of the same name. */
export interface RunOwner {
  readonly workflowId: string;
  readonly firstRunId: string;
  /** Of one that took the run over: attempts of a lower number are those of workflows before. */
  readonly firstEpoch?: number;
}

/**
 * Runs on a disk that every worker sees.
 *
 * ```
 * <root>/runs/<run>/
 *   owner.json  config.json  code.diff  state.json  life.json
 *   metrics.jsonl  timing.jsonl  scores.jsonl  checkpoints.jsonl  controls.jsonl  events.jsonl  sent.jsonl
 *   evals/<step>/<evaluator>/
 * ```
 *
 * Whole files are replaced at once; journals belong to one attempt at a time (`openJournal`). Readers see whatever is
 * there, also of a run whose worker died or whose server is away.
 */
export interface RunStore {
  readonly root: string;
  runFolder(run: string): string;
  /** Folder of one evaluator's work on one step. */
  cellFolder(run: string, step: number, evaluator: string): string;
  exists(run: string): Promise<boolean>;
  /** Newest last. Folders without a readable state are passed over. */
  listRuns(): Promise<RunState[]>;
  /** The same some at a time and in no order, for stores with more runs than memory should hold. */
  eachRun(onUnreadable?: (found: UnreadableState) => void): AsyncIterable<RunState>;
  /** What is wrong with a run's state; null where it can be read, or there is none. */
  findUnreadable(run: string): Promise<UnreadableState | null>;
  /** Makes the run's folder this workflow's own. Another owner is a `store-conflict`. */
  claim(run: string, owner: RunOwner): Promise<'claimed' | 'already-ours'>;
  readOwner(run: string): Promise<RunOwner | null>;
  /** Makes a run that another workflow began this workflow's own. Whoever calls has seen to it that the other has ended. */
  takeOver(run: string, owner: RunOwner): Promise<void>;
  /** The life of the model that was opened last; null before the first, and of runs that never wrote it. */
  readLife(run: string): Promise<ModelIncarnation | null>;
  writeLife(run: string, life: ModelIncarnation): Promise<void>;
  /** Number of the latest attempt that wrote one of the run's journals; 0 where none did. */
  latestEpoch(run: string): Promise<number>;
  /** Removes a run that could not be started, unless it belongs to another workflow than the one named. */
  discard(run: string, owner?: Pick<RunOwner, 'workflowId'>): Promise<void>;
  writeConfig(run: string, config: object): Promise<void>;
  /** As it was written. Throws `unknown-run` where there is none. */
  readConfig<Config extends object = Record<string, unknown>>(run: string): Promise<Config>;
  writeCodeDiff(run: string, diff: string): Promise<void>;
  writeState(run: string, state: RunState): Promise<void>;
  /** null where the run has none yet, or none that can be read. */
  readState(run: string): Promise<RunState | null>;
  openJournal<Name extends keyof RunJournals>(
    run: string,
    name: Name,
    options: Omit<JournalSpec<RunJournals[Name]>, 'path' | 'keyOf'>,
  ): Promise<Journal<RunJournals[Name]>>;
  readMetrics(run: string, selection?: StepSelection): Promise<MetricsRow[]>;
  /** The last row alone, read from the file's end; null before the first step. */
  readLastMetrics(run: string): Promise<MetricsRow | null>;
  readTiming(run: string, selection?: StepSelection): Promise<TimingRow[]>;
  readScores(run: string): Promise<ScoreRow[]>;
  readCheckpoints(run: string): Promise<CheckpointRow[]>;
  readControls(run: string): Promise<ControlRow[]>;
  readEvents(run: string): Promise<RunEvent[]>;
  readSent(run: string): Promise<SentRow[]>;
}

interface StepJournal<Row> {
  readonly name: 'metrics' | 'timing';
  readonly isRow: (row: Row) => boolean;
  readonly selection: StepSelection;
}

/** Files open at a time. */
const RUNS_AT_ONCE = 64;

export function createRunStore(root: string): RunStore {
  keepRunFolders(root);
  return new FolderRunStore(root);
}

class FolderRunStore implements RunStore {
  constructor(readonly root: string) {}

  runFolder(run: string): string {
    return join(this.root, 'runs', validateName('Run', run));
  }

  cellFolder(run: string, step: number, evaluator: string): string {
    const stepName = validateName('Step', String(step));
    return join(this.runFolder(run), 'evals', stepName, validateName('Evaluator', evaluator));
  }

  async exists(run: string): Promise<boolean> {
    return (await readWholeFile(this.file(run, 'owner.json'))) !== null;
  }

  async listRuns(): Promise<RunState[]> {
    const states: RunState[] = [];
    for await (const state of this.eachRun()) states.push(state);
    return states.sort(
      (left, right) => compare(left.startedAt, right.startedAt) || compare(left.run, right.run),
    );
  }

  async *eachRun(onUnreadable?: (found: UnreadableState) => void): AsyncGenerator<RunState> {
    const names = (await this.runNames()).filter(isValidName);
    for (let begin = 0; begin < names.length; begin += RUNS_AT_ONCE) {
      const part = names.slice(begin, begin + RUNS_AT_ONCE);
      for (const { state, unreadable } of await Promise.all(part.map((run) => this.lookAtState(run)))) {
        if (unreadable) onUnreadable?.(unreadable);
        if (state) yield state;
      }
    }
  }

  async findUnreadable(run: string): Promise<UnreadableState | null> {
    return (await this.lookAtState(run)).unreadable;
  }

  async claim(run: string, owner: RunOwner): Promise<'claimed' | 'already-ours'> {
    const content = `${JSON.stringify({ workflowId: owner.workflowId, firstRunId: owner.firstRunId }, null, 2)}\n`;
    if (await createWholeFile(this.file(run, 'owner.json'), content)) return 'claimed';
    const present = await this.readOwner(run);
    if (present?.workflowId === owner.workflowId && present.firstRunId === owner.firstRunId)
      return 'already-ours';
    throw otherOwner(`Run "${run}" in ${this.root}`, { run, owner, present });
  }

  async readOwner(run: string): Promise<RunOwner | null> {
    return readJson<RunOwner>(this.file(run, 'owner.json'));
  }

  async takeOver(run: string, { workflowId, firstRunId, firstEpoch }: RunOwner): Promise<void> {
    await writeJson(this.file(run, 'owner.json'), { workflowId, firstRunId, firstEpoch });
  }

  async readLife(run: string): Promise<ModelIncarnation | null> {
    return readJson<ModelIncarnation>(this.file(run, 'life.json'));
  }

  async writeLife(run: string, life: ModelIncarnation): Promise<void> {
    await writeJson(this.file(run, 'life.json'), life);
  }

  async latestEpoch(run: string): Promise<number> {
    const names = (await readdir(this.runFolder(run))).filter((name) => name.endsWith('.jsonl.lease'));
    const texts = await Promise.all(names.map((name) => readWholeFile(this.file(run, name))));
    const epochs = texts.map((text) => Number(text)).filter((epoch) => Number.isSafeInteger(epoch));
    return largestOf([0, ...epochs]);
  }

  async discard(run: string, owner?: Pick<RunOwner, 'workflowId'>): Promise<void> {
    const present = await this.readOwner(run);
    if (owner && present && present.workflowId !== owner.workflowId) return;
    // Renamed first, so that nobody finds half a run while its files go.
    const doomed = join(this.root, 'runs', `.discarded-${randomUUID()}`);
    try {
      await rename(this.runFolder(run), doomed);
    } catch (error) {
      if (hasErrorCode(error, 'ENOENT')) return;
      throw error;
    }
    await rm(doomed, { recursive: true, force: true });
  }

  async writeConfig(run: string, config: object): Promise<void> {
    await writeJson(this.file(run, 'config.json'), config);
  }

  async readConfig<Config extends object = Record<string, unknown>>(run: string): Promise<Config> {
    const config = await readJson<Config>(this.file(run, 'config.json'));
    if (config !== null) return config;
    throw new DomainError(
      'unknown-run',
      `Run "${run}" has no readable config.json in ${this.root}: it is not there, or ended before it was prepared. List the runs there are with: everstep runs list`,
    );
  }

  async writeCodeDiff(run: string, diff: string): Promise<void> {
    await writeWholeFile(this.file(run, 'code.diff'), diff);
  }

  async writeState(run: string, state: RunState): Promise<void> {
    await writeJson(this.file(run, 'state.json'), state);
  }

  async readState(run: string): Promise<RunState | null> {
    return readState(this.file(run, 'state.json'), run);
  }

  openJournal<Name extends keyof RunJournals>(
    run: string,
    name: Name,
    options: Omit<JournalSpec<RunJournals[Name]>, 'path' | 'keyOf'>,
  ): Promise<Journal<RunJournals[Name]>> {
    return openJournal({ ...options, path: this.file(run, `${name}.jsonl`), keyOf: JOURNAL_KEYS[name] });
  }

  readMetrics(run: string, selection: StepSelection = {}): Promise<MetricsRow[]> {
    return this.stepRows(run, { name: 'metrics', isRow: rows.isMetricsRow, selection });
  }

  async readLastMetrics(run: string): Promise<MetricsRow | null> {
    const row = await readLastRow<MetricsRow>(this.file(run, 'metrics.jsonl'));
    return row && rows.isMetricsRow(row) ? row : null;
  }

  readTiming(run: string, selection: StepSelection = {}): Promise<TimingRow[]> {
    return this.stepRows(run, { name: 'timing', isRow: rows.isTimingRow, selection });
  }

  readScores(run: string): Promise<ScoreRow[]> {
    return this.readRows(run, 'scores', rows.isScoreRow);
  }

  readCheckpoints(run: string): Promise<CheckpointRow[]> {
    return this.readRows(run, 'checkpoints', rows.isCheckpointRow);
  }

  readControls(run: string): Promise<ControlRow[]> {
    return this.readRows(run, 'controls', rows.isControlRow);
  }

  readEvents(run: string): Promise<RunEvent[]> {
    return this.readRows(run, 'events', rows.isEventRow);
  }

  readSent(run: string): Promise<SentRow[]> {
    return this.readRows(run, 'sent', rows.isSentRow);
  }

  private lookAtState(run: string) {
    return lookAtState(this.file(run, 'state.json'), run);
  }

  private async stepRows<Row extends MetricsRow | TimingRow>(
    run: string,
    { name, isRow, selection }: StepJournal<Row>,
  ): Promise<Row[]> {
    return (await readStepRows<Row>(this.file(run, `${name}.jsonl`), selection)).filter(isRow);
  }

  private async readRows<Row extends object>(
    run: string,
    name: keyof RunJournals,
    isRow: (row: Row) => boolean,
  ): Promise<Row[]> {
    return (await readJsonLines<Row>(this.file(run, `${name}.jsonl`))).filter(isRow);
  }

  private file(run: string, name: string): string {
    return join(this.runFolder(run), name);
  }

  private async runNames(): Promise<string[]> {
    try {
      const entries = await readdir(join(this.root, 'runs'), { withFileTypes: true });
      return entries
        .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
        .map(({ name }) => name);
    } catch (error) {
      if (hasErrorCode(error, 'ENOENT')) return [];
      throw error;
    }
  }
}

function compare(left: string, right: string): number {
  return left < right ? -1 : Number(left > right);
}
