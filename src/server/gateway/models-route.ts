import { z } from 'zod';
import { mapWithLimit } from '../../core/concurrency/map-with-limit';
import type { RunState } from '../../core/run';
import { RequestError } from '../http/request-error';
import type { Routes } from '../http/route';
import { findWeights, keptCheckpoints } from './find-weights';
import type { Gateway } from './gateway';

const Model = z
  .object({
    id: z.string(),
    object: z.literal('model'),
    created: z.int(),
    owned_by: z.string().describe('The run that trained it, or `engine`'),
  })
  .meta({ id: 'Model' });
type Model = z.infer<typeof Model>;

const ModelList = z.object({ object: z.literal('list'), data: z.array(Model) });

/** Runs of years do not fit a list that tools show; a model that is not listed can be asked all the same. */
const NEWEST_RUNS = 200;
const CONCURRENT_READS = 8;
const ENGINE_LIMIT_MS = 3000;

export function addModelRoutes(routes: Routes, gateway: Gateway): void {
  routes.add(
    {
      method: 'GET',
      path: '/v1/models',
      id: 'listModels',
      summary: `Base models of the training service, and kept checkpoints of the newest ${NEWEST_RUNS} runs`,
      tag: 'gateway',
      answers: { 200: { description: 'What can be given as `model`', schema: ModelList } },
    },
    async () => {
      const [base, trained] = await Promise.all([baseModels(gateway), trainedModels(gateway)]);
      return { object: 'list', data: [...(base ?? []), ...trained] } satisfies z.infer<typeof ModelList>;
    },
  );
  routes.add(
    {
      method: 'GET',
      path: '/v1/models/{model}',
      takesRest: true,
      id: 'getModel',
      summary: 'One model',
      tag: 'gateway',
      parameters: z.object({ model: z.string().min(1).max(500) }),
      answers: { 200: { description: 'The model', schema: Model } },
    },
    async ({ parameters: { model } }) => {
      const found = await findWeights(model, gateway.records);
      const run = found.path === null ? null : runOf(found.label);
      if (run === null && found.path === null) await requireBaseModel(model, gateway);
      const startedAt = run === null ? null : ((await gateway.records.readState(run))?.startedAt ?? null);
      return modelOf(model, { owner: run ?? 'engine', startedAt });
    },
  );
}

/** Of `RUN@STEP`, as weights of runs are labelled. */
function runOf(label: string): string | null {
  const [, run = null] = /^([^:]*)@\d+$/.exec(label) ?? [];
  return run;
}

/** A service that lists its models knows best; where it lists none, nobody can say that there is no such model. */
async function requireBaseModel(name: string, gateway: Gateway): Promise<void> {
  const known = await baseModels(gateway);
  if (known === null) {
    throw new RequestError(503, {
      message: `There is no run "${name.slice(0, 200)}", and the training service, which knows its base models, does not answer. Ask again, or start it.`,
      param: 'model',
      code: 'unreachable',
    });
  }
  if (known.length === 0 || known.some(({ id }) => id === name)) return;
  throw new RequestError(404, {
    message: `There is no run and no base model "${name.slice(0, 200)}"; GET /v1/models lists both.`,
    param: 'model',
    code: 'model_not_found',
  });
}

/** Without a service there are none of its models; null where it does not answer. Those of runs are listed all the same. */
async function baseModels({ models }: Gateway): Promise<Model[] | null> {
  const client = models.connect();
  if (!client) return [];
  try {
    const supported = await client.capabilities({ signal: AbortSignal.timeout(ENGINE_LIMIT_MS) });
    return supported
      .filter(({ isSampleable }) => isSampleable)
      .map(({ name }) => modelOf(name, { owner: 'engine', startedAt: null }));
  } catch {
    return null;
  } finally {
    await client.close();
  }
}

/** A run whose checkpoints cannot be read is left out: the others are there all the same. */
async function trainedModels({ records, logger }: Gateway): Promise<Model[]> {
  const newest = (await records.listRuns()).reverse().slice(0, NEWEST_RUNS);
  const lists = await mapWithLimit(newest, CONCURRENT_READS, async (state) => {
    try {
      const kept = keptCheckpoints(await records.readCheckpoints(state.run));
      return modelsOfRun(
        state,
        kept.map(({ step }) => step),
      );
    } catch (error) {
      logger.warn({ run: state.run, err: error }, 'a run is left out of the models');
      return [];
    }
  });
  return lists.flat();
}

function modelsOfRun({ run, startedAt }: RunState, steps: readonly number[]): Model[] {
  if (steps.length === 0) return [];
  const names = [run, ...[...new Set(steps)].map((step) => `${run}@${step}`)];
  return names.map((name) => modelOf(name, { owner: run, startedAt }));
}

function modelOf(
  id: string,
  { owner, startedAt }: { readonly owner: string; readonly startedAt: string | null },
): Model {
  const created = startedAt === null ? 0 : Math.floor(Date.parse(startedAt) / 1000) || 0;
  return { id, object: 'model', created, owned_by: owner };
}
