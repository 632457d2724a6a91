import { describeFullDisk } from '../stack/full-disk';
import { findStack } from '../stack/stack-record';
import { readEnvironment } from '../config/environment';
import type * as TrainingConfigs from '../config/parse-training-config';
import type { TrainingConfig, TrainingConfigInput } from '../config/training-config';
import { createRunStore } from '../stores/run-store';
import type { BackfillHandle } from './backfill-handle';
import { backfillHandle } from './backfill-sources';
import { allowNamed } from './allow-named';
import type { BackfillOptions } from './backfill-request';
import type { CompareRunsOptions, RunComparison } from './compare-runs';
import type { LookAtAddresses } from './check-endpoint';
import { isEvaluationBegun, judgesAtEndpoints, lookAtEvaluation, lookForPrograms } from './check-endpoint';
import { checkCheckpoints } from './check-checkpoints';
import { compareRuns } from './compare-runs';
import type { RunDeletion } from './delete-run';
import { deleteRun, planRunDeletion } from './delete-run';
import type { ContinueOptions, RecoverableRun } from './continue-run';
import { continueRun, findRecoverable, findUnreadableRuns } from './continue-run';
import type { TakeOverOptions } from './refuse-alive';
import { adviseOnWorkers } from './find-pollers';
import type { EvalHandle } from './eval-handle';
import type { WeightsPlace, WeightsView } from './eval-engine';
import { sourceAtHand } from './eval-engine';
import { findFinishedEval, startEval } from './eval-handle';
import type { EvaluatorHandle, EvaluatorOptions } from './eval-evaluator';
import { EVALUATOR_OPTIONS, startEvaluator, startRequest } from './eval-evaluator';
import type { RegradeOptions } from './regrade';
import { regradeRequests } from './regrade';
import type { RejudgeOptions } from './rejudge';
import { rejudgeRequests } from './rejudge';
import { isRejudgingBegun } from './rejudge-begun';
import { rejudgeEvaluatorRequests } from './rejudge-cells';
import { findTemporal } from './find-temporal';
import type { CleanUpOptions, GarbageReport } from './garbage';
import { collectGarbage, findGarbage } from './garbage';
import { findJudges } from './judge-sources';
import type { RunFilter, RunPage, RunSummary } from './run-summary';
import { listRuns, pageOfRuns } from './list-runs';
import { RunHandle } from './run-handle';
import type { RunSources } from './run-handle';
import { CanarySchedules } from './schedules';
import { ServerLink } from './server-link';
import type { StartedRun, StartOptions } from './start-run';
import { refuseEnded, resumeRun, startRun } from './start-run';
import type { ConnectOptions } from './connect-options';
import { CONNECT_OPTIONS } from './connect-options';
import type { EvaluateOptions } from './evaluate-options';
import { Evaluations } from './evaluations';
import { configOf, evaluationRequests, placeEvaluation } from './evaluate-options';
import { requireKnownOptions } from './known-options';

/**
 * The library: start runs, list them, ask them.
 *
 *     const everstep = await Everstep.connect();
 *     const run = await everstep.train({ kind: 'sft', model: 'everstep/tiny', dataset: { path: 'train.jsonl' } });
 *     const { status, finalWeightsDigest } = await run.result();
 *
 * A server that is away is no error until something has to be started: the store answers.
 */
export class Everstep {
  private constructor(
    private readonly sources: RunSources & { readonly look: LookAtAddresses },
    /** Folder of the runs this object reads. */
    readonly store: string,
    private readonly dataFolder: string,
  ) {}

  static async connect(options: ConnectOptions = {}): Promise<Everstep> {
    requireKnownOptions('connect', options, CONNECT_OPTIONS);
    const { store, dataFolder } = readEnvironment({ dataDir: options.dataFolder, store: options.store });
    const target = await findTemporal(options, dataFolder);
    const isKept = () => target !== null && findStack(dataFolder)?.temporalAddress === target.address;
    const whyAway = () => (target === null || isKept() ? describeFullDisk(dataFolder) : null);
    const link = new ServerLink(target, isKept, whyAway);
    const look = options.looksAtEndpoints === false ? () => Promise.resolve() : lookForPrograms(link, isKept);
    return new Everstep({ link, records: createRunStore(store), look }, store, dataFolder);
  }

  /** Start a run, or attach to the one of that name that is under way. */
  async train(config: TrainingConfigInput, options: StartOptions = {}): Promise<RunHandle> {
    // Its schemas take longer to make than most calls that need none of them.
    // oxlint-disable-next-line typescript/no-require-imports, typescript/consistent-type-assertions -- what `import` would have typed
    const { completeTrainingConfig } = require('../config/parse-training-config') as typeof TrainingConfigs;
    return (await this.start(completeTrainingConfig(config), options)).handle;
  }

  /** Like `train`, with a config that is complete already, saying whether the run was there before. */
  async start(config: TrainingConfig, options: StartOptions = {}): Promise<StartedRun> {
    this.allow(config);
    return startRun(this.sources, config, options);
  }

  /** Attach to a run that is under way, with the config it was started with. */
  async resume(run: string): Promise<StartedRun> {
    return resumeRun(this.sources, run);
  }

  /** Go on with a run whose workflow has ended, or is on no server any more, from what the store has of it. */
  async continue(run: string, options: ContinueOptions = {}): Promise<StartedRun> {
    return continueRun(this.sources, run, options);
  }

  /** Every run of the store that has not ended, and whether the server has it. */
  async recoverable(options: TakeOverOptions = {}): Promise<readonly RecoverableRun[]> {
    return findRecoverable(this.sources, options);
  }

  /** What the store has of runs whose state cannot be read, so that `recoverable` passes them over: a sentence each. */
  async unreadableRuns(): Promise<readonly string[]> {
    return findUnreadableRuns(this.sources);
  }

  /** Refuses checkpoints that a config names and no run of the store has; `start` does so too, but needs a server. */
  async checkCheckpoints(config: TrainingConfig, run?: string): Promise<void> {
    await checkCheckpoints(config, this.sources.records, run);
  }

  /** Refuses a name whose run is known to have ended; `start` does so too, but needs a server. */
  async refuseEnded(run: string): Promise<void> {
    await refuseEnded(this.sources, run);
  }

  run(name: string): RunHandle {
    return new RunHandle(name, this.sources);
  }

  /**
   * Score a model on benchmarks. The same call finds the same eval run again: what is there counts, what is missing or
   * failed is asked for. An endpoint that cannot answer is refused before anything is started.
   */
  async evaluate(benchmarks: string | readonly string[], options: EvaluateOptions): Promise<EvalHandle> {
    const requests = await evaluationRequests(benchmarks, options, this.asked);
    await lookAtEvaluation(requests, options, this.sources);
    this.allow({ ...options, benchmarks });
    const [first] = requests;
    const model = first && (await sourceAtHand(first.model, this.viewOf(options)));
    const judges = await findJudges(configOf(options), this.sources.records, this.viewOf({}));
    return startEval(
      this.sources.link,
      requests.map((request) => ({ ...request, ...(model && { model }), ...judges })),
    );
  }

  /** Where the model of an evaluation, and those that judge, can be asked, as seen from here. */
  async findWeights(options: EvaluateOptions): Promise<WeightsPlace[]> {
    const views = { model: this.viewOf(options), judges: this.viewOf({}) };
    return placeEvaluation(options, this.sources.records, views);
  }

  readonly evaluations = new Evaluations(() => this.deletionSources());

  /** Disk: what is left over in the store and in the data folder. */
  readonly storage = {
    /** What `cleanUp` would remove; changes nothing. */
    planCleanUp: (options: CleanUpOptions = {}): Promise<GarbageReport> =>
      findGarbage(this.garbageSources(), options),
    /** Removes what nothing refers to. */
    cleanUp: (options: CleanUpOptions = {}): Promise<GarbageReport> =>
      collectGarbage(this.garbageSources(), options),
  };

  /** Judges the stored answers of an eval run by other judges, as an eval run beside it; the model is not asked. */
  async rejudge(options: RejudgeOptions): Promise<EvalHandle> {
    const { link, records } = this.sources;
    const requests = await rejudgeRequests(options, records, this.viewOf({}));
    await this.lookAtJudges(options);
    this.allow(options);
    return startEval(link, requests);
  }

  /** Grades the stored answers of an eval run with its grader as it is now; the model is not asked, the old verdicts stay beside it. */
  async regrade(options: RegradeOptions): Promise<EvalHandle> {
    const requests = await regradeRequests(options, this.dataFolder);
    this.allow(options);
    return startEval(this.sources.link, requests);
  }

  /** The same for what models judged of a training run at a step: `folder` is `<store>/runs/<run>/evals/<step>`. */
  async rejudgeEvaluations(options: RejudgeOptions): Promise<EvaluatorHandle[]> {
    const { link, records } = this.sources;
    const { store, dataFolder } = this;
    const { model, requests } = await rejudgeEvaluatorRequests(options, { records, store, dataFolder });
    await this.lookAtJudges(options);
    this.allow(options);
    return Promise.all(requests.map((request) => startRequest(link, request, model)));
  }

  /** What there is already of a judging again, so that it has something to wait for. */
  async isRejudgingBegun(options: RejudgeOptions): Promise<boolean> {
    return isRejudgingBegun(options, { ...this.sources, store: this.store, dataFolder: this.dataFolder });
  }

  /** The eval run that `evaluate` would return without asking any model, because its results are there; else null. */
  async findEvaluation(
    benchmarks: string | readonly string[],
    options: EvaluateOptions,
  ): Promise<EvalHandle | null> {
    return findFinishedEval(this.sources.link, await evaluationRequests(benchmarks, options, this.asked));
  }

  /** Whether an evaluation was begun and got an answer, so that it has something to wait for. */
  async hasAnswers(benchmarks: string | readonly string[], options: EvaluateOptions): Promise<boolean> {
    const requests = await evaluationRequests(benchmarks, options, this.asked);
    return isEvaluationBegun(requests);
  }

  /** Score a checkpoint of a run with one of the run's evaluators, beside the run. */
  async evaluateWith(evaluator: string, options: EvaluatorOptions): Promise<EvaluatorHandle> {
    requireKnownOptions('evaluateWith', options, EVALUATOR_OPTIONS);
    return startEvaluator(this.sources, {
      evaluator,
      store: this.store,
      dataFolder: this.dataFolder,
      ...options,
    });
  }

  /** The matrix of checkpoints × benchmarks: what is there, and what `start` would run. */
  async prepareBackfill(options: BackfillOptions): Promise<BackfillHandle> {
    const { sources, store, allow } = this;
    return backfillHandle(options, { ...sources, store, allow, view: this.viewOf(options) });
  }

  /** Scores every chosen checkpoint on every benchmark, but for what is scored already. */
  async backfill(options: BackfillOptions): Promise<BackfillHandle> {
    const handle = await this.prepareBackfill(options);
    await handle.start();
    return handle;
  }

  readonly runs = {
    list: (filter?: RunFilter): Promise<RunSummary[]> => listRuns(this.sources, filter),
    /** The same, with how many there are and who answered. */
    page: (filter?: RunFilter): Promise<RunPage> => pageOfRuns(this.sources, filter),
    /** Two training runs by their metrics, evaluations and configs. */
    compare: (a: string, b: string, options?: CompareRunsOptions): Promise<RunComparison> =>
      compareRuns({ ...this.sources, store: this.store }, [a, b], options),
    /** What `delete` would take, and what stands against it. */
    planDeletion: (run: string): Promise<RunDeletion> => planRunDeletion(this.deletionSources(), run),
    /** Deletes an ended run that nothing refers to, and frees its name. */
    delete: (run: string): Promise<RunDeletion> => deleteRun(this.deletionSources(), run),
  };

  /** Canaries: evaluations the server repeats by itself. */
  get schedules(): CanarySchedules {
    const { link, records, look } = this.sources;
    return new CanarySchedules(link, records, { store: this.store, allow: this.allow, look });
  }

  /** What a person has to do so that there are workers for a run; null where there are. */
  async workerAdvice(): Promise<string | null> {
    const { link } = this.sources;
    const client = await link.require();
    return link.target && adviseOnWorkers(client, link.target);
  }

  private get asked() {
    return { records: this.sources.records, store: this.store };
  }

  private async lookAtJudges(options: RejudgeOptions): Promise<void> {
    const addressees = judgesAtEndpoints(options.judge);
    await this.sources.look({ addressees, isBegun: () => this.isRejudgingBegun(options) });
  }

  /** Only what is about to be started: looking something up allows nothing. */
  private readonly allow = (named: object): void => {
    allowNamed(this.dataFolder, named);
  };

  private deletionSources() {
    const scheduledModels = async () => ((await this.sources.link.find()) ? this.schedules.list() : null);
    const scheduleNames = async () => (await scheduledModels())?.map(({ name }) => name) ?? null;
    return { ...this.sources, store: this.store, scheduledModels, scheduleNames };
  }

  private garbageSources() {
    const { cacheFolder } = readEnvironment();
    return { ...this.sources, store: this.store, dataFolder: this.dataFolder, cacheFolder };
  }

  private viewOf({ engine }: Pick<EvaluateOptions, 'engine'>): WeightsView {
    return { dataFolder: this.dataFolder, isEngineNamed: engine !== undefined };
  }

  async close(): Promise<void> {
    await this.sources.link.close();
  }
}
