import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { SupervisedConfig } from '../../../src/config/supervised-config';
import type { EvaluationSchedule } from '../../../src/core/schedules/evaluation-schedule';
import type { OpenedModel, SegmentInput, SegmentResult, TrainingPlan } from '../../../src/core/training-plan';
import type { TinkerClient } from '../../../src/engines/tinker/client';
import { createTinkerClient } from '../../../src/engines/tinker/client';
import { createRunStore } from '../../../src/stores/run-store';
import type { RunStore } from '../../../src/stores/run-store';
import { createEngineAccess } from '../../../src/training/engine-access';
import { openModel } from '../../../src/training/open-model';
import { runSegment } from '../../../src/training/segment';
import type { BatchSource } from '../../../src/training/step-batch';
import { createStepJournals, KeptJournals } from '../../../src/training/step-journals';
import { StoreNews } from '../../../src/training/store-news';
import type { TestEngine } from '../engines/local/server/engine-driver';
import { startTestEngine } from '../engines/local/server/engine-driver';
import { BASE_MODEL } from '../engines/local/server/fake-runtime';

/**
 * Segments over an engine with the smallest model that learns: at which step each hands over, which numbers its requests have,
 * and from where a rewind goes on. A request that has not the number after the one before is refused before it is sent, so
 * that nobody waits for the one that is missing.
 */
const TOTAL = 10;
const TOKENS = 2;

let folder: string;
let store: RunStore;
let engine: TestEngine;
let client: TinkerClient;

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'everstep-segment-'));
  store = createRunStore(folder);
  engine = await startTestEngine();
  client = createTinkerClient({ baseUrl: engine.driver.url });
});

afterEach(async () => {
  await client.close();
  await engine.close();
  rmSync(folder, { recursive: true, force: true });
});

function planOf(run: string, more: Partial<TrainingPlan> = {}): TrainingPlan {
  return {
    ...{ run, kind: 'sft', model: BASE_MODEL, startedAt: '', totalSteps: TOTAL, stepsPerEpoch: TOTAL },
    submitAhead: 2,
    checkpoints: { saveEvery: 3, ttlSeconds: null, rollingSaveEvery: 0, rollingTtlSeconds: 60 },
    evaluations: [],
    ...more,
  };
}

/** Step s trains token s, so that each changes the losses of those after it. */
const batches: BatchSource = {
  batch: (step) => {
    const targetTokens = Int32Array.from({ length: TOKENS }, () => step);
    const lossInputs = { weights: new Float32Array(TOKENS).fill(1) };
    const parts = [[{ tokens: Int32Array.of(1, 2), targetTokens, lossInputs }]];
    const updates = [{ parts, lossFn: 'cross_entropy' as const }];
    return Promise.resolve({ updates, tokenCount: TOKENS, epoch: 0, metrics: () => ({}) });
  },
};

const adam = { beta1: 0.9, beta2: 0.95, eps: 1e-8, weightDecay: 0, gradClipNorm: 0 };
const schedule = { type: 'constant', warmupSteps: 0 } as const;

/** What numbers the requests of one attempt have. */
class Numbering {
  readonly sent: number[] = [];

  constructor(private readonly first: number) {}

  watch(): TinkerClient {
    const own = client;
    return {
      ...own,
      submitForwardBackward: (spec, options) => own.submitForwardBackward(this.checked(spec), options),
      submitOptimStep: (spec, options) => own.submitOptimStep(this.checked(spec), options),
      submitSaveWeights: (spec, options) => own.submitSaveWeights(this.checked(spec), options),
      submitSaveWeightsForSampler: (spec, options) =>
        own.submitSaveWeightsForSampler(this.checked(spec), options),
    };
  }

  /** Refuses a number that is not the next. */
  private checked<Spec extends { readonly seqId: number }>(spec: Spec): Spec {
    const next = this.first + this.sent.length;
    if (spec.seqId !== next) throw new Error(`A request has number ${spec.seqId}; the next is ${next}.`);
    this.sent.push(spec.seqId);
    return spec;
  }
}

interface Attempt extends Partial<Omit<SegmentInput, 'plan'>> {
  /** Asked to hand over once this step is collected. */
  readonly interruptAt?: number;
  readonly attempt?: number;
}

/** A run of which this test is the workflow; each step it collects takes a second. */
class TestRun {
  private readonly journals: KeptJournals;
  private epoch = 0;
  /** Of all segments. */
  readonly sent: number[] = [];

  private constructor(
    readonly plan: TrainingPlan,
    public opened: OpenedModel,
  ) {
    this.journals = new KeptJournals(store, plan.run);
  }

  static async start(plan: TrainingPlan): Promise<TestRun> {
    await store.claim(plan.run, { workflowId: `train/${plan.run}`, firstRunId: 'first' });
    return new TestRun(plan, await openLife(plan.run, { epoch: 0, previous: null, collectedThrough: -1 }));
  }

  /** The model's next life, in the engine as it is now. */
  async rewind(collectedThrough: number): Promise<OpenedModel> {
    const former = client;
    client = createTinkerClient({ baseUrl: engine.driver.url });
    await former.close();
    const epoch = ++this.epoch;
    this.opened = await openLife(this.plan.run, { epoch, previous: this.opened.model, collectedThrough });
    // A number that the service does not expect would be waited for in vain.
    expect(this.opened.position.nextSeqId).toBe(1);
    return this.opened;
  }

  async segment(given: Attempt = {}): Promise<SegmentResult> {
    const { interruptAt, attempt = 1, ...more } = given;
    const { plan } = this;
    const { model, position } = this.opened;
    const input: SegmentInput = {
      ...{ plan, model, position, segment: 1, throughStep: plan.totalSteps, maxSeconds: 1000 },
      ...{ timedSteps: [], evaluatedThrough: -1, ...more },
    };
    const numbering = new Numbering(numberAfter(input.position));
    const asked = new AbortController();
    let time = 0;
    const result = await this.journals.lend(++this.epoch, (borrowed) =>
      runSegment(
        {
          ...{ client: numbering.watch(), batches, optimization: { learningRate: 0.1, schedule, adam } },
          // The machine's own time is set back meanwhile.
          journals: createStepJournals(borrowed, {
            ...{ plan, model },
            now: () => new Date(Date.UTC(2026, 0, 1) - time * 3600),
            monotonic: () => time,
          }),
          ...{ news: new StoreNews(), now: () => time },
        },
        input,
        {
          ...{ attempt, signal: asked.signal },
          waiting: { signal: new AbortController().signal, reason: () => null },
          onProgress: (step) => {
            time += 1000;
            if (step === interruptAt) asked.abort();
          },
        },
      ),
    );
    // Where training stands accounts for whatever was sent.
    if (result.lost === null)
      expect(numberAfter(result.position)).toBe(numberAfter(input.position) + numbering.sent.length);
    this.sent.push(...numbering.sent);
    return result;
  }

  /** Segment after segment, each from where the one before handed over; returns the steps they ended at. */
  async finish(given: (result: SegmentResult | null) => Attempt = () => ({})): Promise<number[]> {
    const ends: number[] = [];
    let result: SegmentResult | null = null;
    while (ends.at(-1) !== this.plan.totalSteps && ends.length <= this.plan.totalSteps) {
      result = await this.segment(given(result));
      this.opened = { ...this.opened, position: result.position };
      ends.push(result.position.collectedThrough);
    }
    return ends;
  }

  metrics() {
    return store.readMetrics(this.plan.run);
  }
}

/** The number that the next request has: those in flight have theirs. */
function numberAfter({ nextSeqId, inFlight }: SegmentInput['position']): number {
  return nextSeqId + inFlight.reduce((count, { requestIds }) => count + requestIds.length, 0);
}

interface Life {
  readonly epoch: number;
  readonly previous: OpenedModel['model'] | null;
  readonly collectedThrough: number;
}

function openLife(run: string, { epoch, ...life }: Life): Promise<OpenedModel> {
  const url = engine.driver.url;
  const config = SupervisedConfig.parse({
    ...{ kind: 'sft', dataset: { path: '/nowhere.jsonl' }, model: BASE_MODEL, loraRank: 4, engine: { url } },
  });
  const data = { source: '', revision: null, contentHash: '', preparedHash: '' };
  const counts = { trainCount: 1, testCount: 0, skippedCount: 0, truncatedCount: 0 };
  const record = {
    ...{ run, config, initialPath: null, evaluators: {}, renderer: 'role_colon', engineUrl: url },
    ...{ data: { ...data, ...counts }, provenance: {} },
  };
  const { signal } = new AbortController();
  const engines = createEngineAccess({ unreachableAfterMs: 2000 });
  const incarnation = life.previous === null ? 0 : life.previous.incarnation + 1;
  return openModel(
    { store, engines, record, epoch, signal },
    { ...life, run, incarnation, lineage: 0, segment: epoch },
  );
}

function evaluation(more: Partial<EvaluationSchedule>): EvaluationSchedule {
  return {
    ...{ name: 'sums', offset: 0, atStart: false, atEnd: false, mode: 'background', evaluators: ['sums'] },
    ...more,
  };
}

/** By the engine, in the order of their sending. */
function trainedSteps(): number[] {
  return engine.runtime.calls.flatMap((call) => {
    const step = /backward:(\d+)$/.exec(call)?.[1];
    return step === undefined ? [] : [Number(step)];
  });
}

const upTo = (last: number) => Array.from({ length: last }, (_, index) => index + 1);

describe('a segment hands over', () => {
  const started = async (more: Partial<TrainingPlan> = {}) => TestRun.start(planOf('story', more));
  const standing = ({ position }: SegmentResult) => ({
    collected: position.collectedThrough,
    submitted: position.submittedThrough,
    inFlight: position.inFlight.map(({ step }) => step),
    tokens: position.tokens,
  });

  test('at the step that its time is up at, with as many sent as are to be queued', async () => {
    const run = await started();

    // Step 0 is the first save.
    const result = await run.segment({ maxSeconds: 5 });

    expect(standing(result)).toEqual({ collected: 4, submitted: 7, inFlight: [5, 6, 7], tokens: 4 * TOKENS });
    expect(result).toMatchObject({ seconds: 5, sentThrough: 7, lost: null, waitingFor: null });
    expect((await run.metrics()).map(({ step }) => step)).toEqual(upTo(4));
  });

  test('with the seconds of its steps, by a clock that nobody sets', async () => {
    const run = await started();

    await run.segment({ maxSeconds: 5 });

    const timing = await store.readTiming('story');
    const [, ...later] = timing.map((row) => row['time/step']);
    expect(later).toEqual([1, 1, 1]);
    expect(timing[1]?.at).toBe('2025-12-31T22:00:00.000Z');
  });

  test('at the step that it is asked at, and sends no more', async () => {
    const run = await started();

    const result = await run.segment({ interruptAt: 4 });

    expect(standing(result)).toEqual({ collected: 4, submitted: 6, inFlight: [5, 6], tokens: 4 * TOKENS });
  });

  test('at the step that it was to go to, and at the last one, with nothing in flight', async () => {
    const run = await started();

    const ends = await run.finish((result) => ({ throughStep: result === null ? 7 : TOTAL }));

    expect(ends).toEqual([7, TOTAL]);
    expect(run.opened.position).toMatchObject({ submittedThrough: TOTAL, inFlight: [] });
  });

  test('at a blocking evaluation, of which it hands over the snapshot', async () => {
    const run = await started({ evaluations: [evaluation({ at: [5], mode: 'blocking' })] });

    const result = await run.segment();

    expect(standing(result)).toEqual({ collected: 5, submitted: 5, inFlight: [], tokens: 5 * TOKENS });
    expect(result.snapshots).toMatchObject([{ step: 5, schedules: ['sums'] }]);
  });

  test.each([
    ['the first one', TOKENS - 1, 0],
    ['one that exceeds it by a token', 5 * TOKENS - 1, 4],
    ['one after those that fill it', 5 * TOKENS, 5],
  ])('before a step that would not fit its tokens: %s', async (_, tokensAtMost, last) => {
    const run = await started();

    const result = await run.segment({ tokensAtMost });

    expect(standing(result)).toEqual({
      ...{ collected: last, submitted: last, inFlight: [], tokens: last * TOKENS },
    });
    expect(result).toMatchObject({ unaffordable: { step: last + 1, tokens: TOKENS }, sentThrough: last });
    expect(trainedSteps()).toEqual(upTo(last));
  });

  test('at the tokens that people are to be warned at, with what is under way counted', async () => {
    const run = await started();

    const result = await run.segment({ handOverAtTokens: 2.5 * TOKENS });

    expect(standing(result)).toMatchObject({ collected: 3, submitted: 6 });
    expect(result.position.tokensSubmitted).toBe(6 * TOKENS);
  });

  test('a snapshot for an evaluation meanwhile, and not while it has none', async () => {
    const run = await started({ evaluations: [evaluation({ at: [4, 6] })] });

    const ends = await run.finish();

    expect(ends).toEqual([4, 6, TOTAL]);
  });

  test.each([
    ['the state it reached', { throughStep: 4, savesAtEnd: true }, { name: '000004', step: 4 }],
    [
      'the state of a run that stands still',
      { throughStep: 4, saveHere: 'held' as const },
      { name: '000004-held' },
    ],
  ])('%s', async (_, more, row) => {
    const run = await started();

    const result = await run.segment(more);

    expect(standing(result)).toMatchObject({ collected: 4, submitted: 4, inFlight: [] });
    expect((await store.readCheckpoints('story')).at(-1)).toMatchObject(row);
  });
});

describe('the requests of a run', () => {
  const undisturbed = async () => {
    const run = await TestRun.start(planOf('calm'));
    await run.finish();
    return run;
  };

  test.each<[string, (result: SegmentResult | null) => Attempt, number[]]>([
    ['one step each', () => ({ maxSeconds: 1 }), [0, ...upTo(TOTAL)]],
    ['three seconds each', () => ({ maxSeconds: 3 }), [2, 5, 8, TOTAL]],
    [
      'broken off again and again',
      (result) => ({ interruptAt: (result?.position.collectedThrough ?? 0) + 2 }),
      [2, 4, 6, 8, TOTAL],
    ],
  ])('are the same, with dense numbers, in segments of %s', async (_, given, ends) => {
    const calm = await undisturbed();
    const run = await TestRun.start(planOf('story'));

    expect(await run.finish(given)).toEqual(ends);

    expect(run.sent).toEqual(upTo(run.sent.length));
    expect(run.sent).toEqual(calm.sent);
    expect(run.opened.position).toEqual(calm.opened.position);
    expect(await run.metrics()).toEqual(await calm.metrics());
  });

  test('are sent again as they were by a later attempt, and counted once', async () => {
    const calm = await undisturbed();
    const run = await TestRun.start(planOf('story'));
    const first = await run.segment({ interruptAt: 3 });

    const second = await run.segment({ attempt: 2, maxSeconds: 6 });
    run.opened = { ...run.opened, position: second.position };
    await run.finish();

    expect(first.position.collectedThrough).toBe(3);
    expect(second).toMatchObject({ position: { collectedThrough: 5 }, sentThrough: TOTAL });
    expect(await run.metrics()).toEqual(await calm.metrics());
  });

  test('are not sent again to a service that would compute them twice', async () => {
    const run = await TestRun.start(planOf('story'));
    const model = { ...run.opened.model, deduplicates: false };

    const again = run.segment({ attempt: 2, model });

    await expect(again).rejects.toMatchObject({ code: 'session-lost' });
  });
});

describe('a rewind', () => {
  test('goes on after the newest checkpoint that was handed over, and comes to what it would have come to', async () => {
    const calm = await TestRun.start(planOf('calm'));
    await calm.finish();
    const run = await TestRun.start(planOf('story'));
    const before = await run.segment({ interruptAt: 8 });
    await engine.restart();

    const opened = await run.rewind(before.position.collectedThrough);
    const ends = await run.finish();

    expect(opened).toMatchObject({ stepsToReplay: 4, position: { collectedThrough: 6, tokens: 6 * TOKENS } });
    expect(ends).toEqual([TOTAL]);
    const trained = engine.runtime.calls.filter((call) => /import|backward/.test(call));
    expect(trained).toEqual(['0:import:6', ...[7, 8, 9, TOTAL].map((step) => `0:backward:${step}`)]);
    expect(await run.metrics()).toEqual(await calm.metrics());
    const saved = (await store.readCheckpoints('story')).map(({ step, incarnation }) => [step, incarnation]);
    expect(saved).toEqual([
      [0, 0],
      [3, 0],
      [6, 0],
      [9, 1],
      [TOTAL, 1],
    ]);
  });

  test('tells what was sent and never collected, of the life before alone', async () => {
    const run = await TestRun.start(planOf('story'));
    // The worker died after it: nobody heard how far it came.
    await run.segment({ interruptAt: 4 });
    await engine.restart();

    const opened = await run.rewind(0);
    const again = await run.segment({ throughStep: 2 });
    await engine.restart();
    const third = await run.rewind(again.position.collectedThrough);

    expect(opened).toMatchObject({ position: { tokens: 0 }, tokensSent: 6 * TOKENS });
    expect(third.tokensSent).toBe(2 * TOKENS);
  });

  test('passes over what its workflow has not heard of', async () => {
    const run = await TestRun.start(planOf('story'));
    await run.segment({ interruptAt: 8 });

    const opened = await run.rewind(5);

    expect(opened.position).toMatchObject({ collectedThrough: 3, submittedThrough: 3, inFlight: [] });
  });

  test('is for the run to do when the model is gone: what was collected counts', async () => {
    const run = await TestRun.start(planOf('story'));
    const before = await run.segment({ interruptAt: 4 });
    run.opened = { ...run.opened, position: before.position };
    await client.unloadModel(run.opened.model.modelId);

    const result = await run.segment();

    expect(result.lost).not.toBeNull();
    expect(result.position).toMatchObject({
      submittedThrough: result.position.collectedThrough,
      inFlight: [],
    });
  });
});
