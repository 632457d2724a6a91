import { z } from 'zod';
import { promotedStep } from '../../client/promoted-step';
import type { RunHandle } from '../../client/run-handle';
import { isClosed } from '../../client/run-report';
import { DomainError } from '../../core/errors';
import type { Routes } from '../http/route';
import { RequestError } from '../http/request-error';
import { untilFault } from '../http/until-fault';
import { withoutUndefined } from '../http/without-undefined';
import { Receipt } from './answer-schemas';
import type { RunAccess } from './run-access';
import { RunPath } from './run-routes';

const who = {
  reason: z.string().optional().describe("Why, for whoever reads the run's record later"),
  by: z.string().optional().describe('Who asks; default the address it was asked from'),
};
const atStep = z.number().optional();
const step = z.union([z.number(), z.literal('best')], {
  error: 'give the step of a kept checkpoint as a number, e.g. 100, or "best" for the promoted one',
});
const rhythm = z.union(
  [
    z.strictObject({ steps: z.number() }),
    z.strictObject({ tokens: z.number() }),
    z.strictObject({ seconds: z.number() }),
    z.literal('never'),
  ],
  { error: 'give {"steps": 150}, {"tokens": 100000}, {"seconds": 60} or "never"' },
);
const limit = z.number().nullable().optional();

const PauseBody = z.strictObject({
  ...who,
  atStep: atStep.describe('Last step to train before it; default those that are under way'),
  seconds: z.number().optional().describe('How long it lasts; default until somebody resumes the run'),
  then: z.enum(['resume', 'stop']).optional(),
});
const SetBody = z.strictObject({
  ...who,
  atStep,
  learningRate: z
    .strictObject({ value: z.number().optional(), multiplier: z.number().optional() })
    .optional()
    .describe('The new peak, or what to multiply it by'),
  schedule: z
    .strictObject({
      name: z.string(),
      every: rhythm.optional(),
      at: untilFault(z.array(z.number())).optional(),
      add: untilFault(z.array(z.string())).optional(),
      remove: untilFault(z.array(z.string())).optional(),
    })
    .optional()
    .describe('When a schedule of evaluations is due, or what it runs'),
});
const BudgetBody = z.strictObject({
  ...who,
  tokens: limit,
  seconds: limit,
  dollars: limit,
  dollarsPerMillionTokens: limit,
});

interface ChangeSpec<Body extends z.ZodType> {
  readonly name: string;
  readonly summary: string;
  readonly body: Body;
  readonly change: (handle: RunHandle, body: z.infer<Body> & { readonly by: string }) => Promise<unknown>;
}

/** Changes of runs under way. The client library and the workflow check them; what they refuse is a 422 with their reason. */
export function addChangeRoutes(routes: Routes, access: RunAccess): void {
  const add: AddChange = (spec) => {
    addChangeRoute(routes, access, spec);
  };
  addCourseChanges(add);
  addWorkChanges(add);
}

type AddChange = <Body extends z.ZodType<object>>(spec: ChangeSpec<Body>) => void;

/** Whether it goes on. */
function addCourseChanges(add: AddChange): void {
  add({
    name: 'pause',
    summary: 'Have the run stand still',
    body: PauseBody,
    change: (handle, body) => handle.pause(withoutUndefined(body)),
  });
  add({
    name: 'resume',
    summary: 'End a pause, or take it back before it begins',
    body: z.strictObject(who),
    change: (handle, body) => handle.resume(withoutUndefined(body)),
  });
  add({
    name: 'stop',
    summary: 'End the run after a step, which is saved and evaluated as a last one is',
    body: z.strictObject({ ...who, atStep }),
    change: (handle, body) => handle.stop(withoutUndefined(body)),
  });
  add({
    name: 'cancel',
    summary: 'End the run at once; its checkpoints and scores stay',
    body: z.strictObject(who),
    change: cancel,
  });
}

/** What it does while it goes on. */
function addWorkChanges(add: AddChange): void {
  add({
    name: 'set',
    summary: 'Change the learning rate, or a schedule of evaluations',
    body: SetBody,
    change: set,
  });
  add({
    name: 'eval',
    summary: 'Run evaluators once',
    body: z.strictObject({
      ...who,
      evaluators: untilFault(z.array(z.string())).optional().describe('Default all that the run has'),
      checkpoint: step
        .optional()
        .describe('Step of a kept checkpoint, or best; default the weights as they are'),
    }),
    change: async (handle, { checkpoint, ...body }) =>
      handle.runEvaluation(withoutUndefined({ ...body, checkpoint: await promotedStep(handle, checkpoint) })),
  });
  add({
    name: 'promote',
    summary: 'Mark the kept checkpoint of a step as the best one',
    body: z.strictObject({ ...who, checkpoint: step }),
    change: async (handle, { checkpoint, ...body }) =>
      handle.promote(await promotedStep(handle, checkpoint), withoutUndefined(body)),
  });
  add({
    name: 'budget',
    summary: 'Limit what the run may use; null takes a limit away',
    body: BudgetBody,
    change: (handle, body) => handle.setBudget(withoutUndefined(body)),
  });
}

function addChangeRoute<Body extends z.ZodType<object>>(
  routes: Routes,
  access: RunAccess,
  { name, summary, body, change }: ChangeSpec<Body>,
): void {
  routes.add(
    {
      method: 'POST',
      path: `/api/v1/runs/{run}/${name}`,
      id: `${name}Run`,
      summary,
      tag: 'changes',
      parameters: RunPath,
      body,
      badBodyStatus: 422,
      answers: { 200: { description: 'What the change comes to', schema: Receipt } },
    },
    async ({ parameters: { run }, body: asked, request }) => {
      const handle = await access.liveHandle(run);
      await handle.status();
      const by = 'by' in asked && typeof asked.by === 'string' ? asked.by : `api@${request.ip}`;
      return explained(access, () => change(handle, { ...asked, by }));
    },
  );
}

/** The server takes a cancel of a run that has ended, and does nothing. */
async function cancel(
  handle: RunHandle,
  body: { readonly by: string; readonly reason?: string | undefined },
): Promise<unknown> {
  const report = await handle.status();
  if (isClosed(report)) {
    throw new DomainError(
      'refused',
      `Run "${report.run}" has ended (${report.status}): there is nothing to cancel.`,
    );
  }
  await handle.cancel(withoutUndefined(body));
  return { control: 'cancel', step: report.step };
}

function set(handle: RunHandle, body: z.infer<typeof SetBody>): Promise<unknown> {
  const { learningRate, schedule, ...options } = body;
  if ((learningRate === undefined) === (schedule === undefined)) {
    throw new RequestError(422, {
      message: 'Give learningRate or schedule, one of them.',
      param: 'learningRate',
    });
  }
  if (schedule === undefined) {
    return handle.setLearningRate(withoutUndefined({ ...options, ...learningRate }));
  }
  const { name, ...change } = schedule;
  return handle.setEvalSchedule(name, withoutUndefined({ ...options, ...change }));
}

/** What the client's own schemas refuse is refused as the workflow's reasons are; a server that has just gone is said to have. */
async function explained(access: RunAccess, change: () => Promise<unknown>): Promise<unknown> {
  try {
    return await change();
  } catch (error) {
    if (!(error instanceof DomainError)) throw (await goneMeanwhile(access, error)) ?? error;
    if (error.code !== 'bad-config') throw error;
    throw new RequestError(422, { message: error.message, code: 'refused' });
  }
}

async function goneMeanwhile(access: RunAccess, cause: unknown): Promise<DomainError | null> {
  const { isReachable, note } = await access.look();
  if (isReachable) return null;
  const message = `${note ?? ''} The change may still be made when it is back; look at the run's controls then.`;
  return new DomainError('temporal-unavailable', message, { cause });
}
