import { Everstep } from '../../src/client/everstep';
import { loadTrainingConfig } from '../../src/config/load-config';
import { createRandom } from '../../src/core/random';
import type { Builds } from './builds';
import { findDifferences, findViolations } from './compare';
import type { Variant } from './configs';
import { HISTORY_EVENTS, isRepeatable, TOKENS_IN_FLIGHT, writeConfig } from './configs';
import { disturb } from './disturb';
import type { ChaosEvent, EventKind } from './events';
import { describeEvent, drawEvents } from './events';
import { readAppliedSteps } from './ledger';
import { describeOpenWork, findLeftovers } from './leftovers';
import type { Observed } from './outcome';
import { observe } from './outcome';
import { sleep } from './service';
import { RUN, Site } from './site';
import { TokenCount } from './token-count';

export interface Plan {
  readonly seed: number;
  readonly steps: number;
  readonly variant: Variant;
  readonly events: readonly ChaosEvent[];
}

/** What a run leaves when nothing happens, and what its engine drew for it. */
export interface Reference extends Observed {
  readonly tokensSampled: number;
}

export interface Setting {
  /** Empty folder of this run alone. */
  readonly folder: string;
  readonly builds: Builds;
}

export interface Verdict {
  readonly plan: Plan;
  readonly seconds: number;
  readonly rewinds: number | null;
  readonly stepsReplayed: number | null;
  readonly applied: number | null;
  readonly orphans: number | null;
  readonly events: readonly string[];
  readonly notes: readonly string[];
  /** Empty where the run left what its undisturbed twin left. */
  readonly problems: readonly string[];
}

/** Longer than any wait of a run that heals; one that hangs is a finding. */
const RUN_LIMIT_MS = 240_000;
const POLL_MS = 40;
const CLOSED = ['completed', 'stopped', 'cancelled', 'failed'];

/** What befalls the run of a seed, the same each time. */
export function drawPlan(
  seed: number,
  kinds: readonly EventKind[],
  { steps, variants }: { readonly steps: number; readonly variants: readonly Variant[] },
): Plan {
  const random = createRandom(seed);
  // Consecutive seeds take the variants in turn, so that a few runs leave none out.
  const variant = variants[seed % variants.length] ?? 'background';
  return { seed, steps, variant, events: drawEvents({ random, kinds, steps }) };
}

/** The run as it is when nothing happens; throws where even that goes wrong. */
export async function runReference(setting: Setting, variant: Variant, steps: number): Promise<Reference> {
  const site = await Site.open({ ...setting, hasSmallDisk: false, hasSlowDisk: false, workerCount: 1 });
  try {
    const tokens = TokenCount.of(site);
    await startRun(site, { setting, variant, steps });
    await untilEnded(site);
    const tokensSampled = await tokens.stop();
    const observed = await observe(site);
    const applied = ledgerOf(site, { steps, observed });
    const { violations } = await findLeftovers(site);
    const problems = [
      ...findViolations(observed.outcome, steps),
      ...violations,
      ...(applied?.violations ?? []),
    ];
    if (observed.rewinds > 0) problems.push(`${observed.rewinds} rewinds although nothing happened`);
    if (problems.length > 0)
      throw new Error(`The reference run is not as it should be: ${problems.join('; ')}`);
    return { ...observed, tokensSampled };
  } finally {
    await site.close();
  }
}

/** One run under its plan, compared with its reference. */
export async function runChaos(setting: Setting, plan: Plan, reference: Reference): Promise<Verdict> {
  const befalls = (kind: EventKind): boolean => plan.events.some((event) => event.kind === kind);
  const startedAt = performance.now();
  const site = await Site.open({
    ...setting,
    hasSmallDisk: befalls('disk-full'),
    hasSlowDisk: befalls('disk-slow'),
    workerCount: 2,
  });
  const struck: string[] = [];
  const facts = () => ({
    seconds: (performance.now() - startedAt) / 1000,
    events: struck,
    notes: site.notes,
  });
  try {
    const tokens = TokenCount.of(site);
    await startRun(site, { setting, ...plan });
    await underDisturbances(site, { events: plan.events, struck });
    const tokensSampled = await tokens.stop();
    if (reference.tokensSampled > 0)
      site.notes.push(`${tokensSampled} tokens sampled, ${reference.tokensSampled} without disturbances`);
    const verdict = await judge(site, plan, reference);
    const problems = [...verdict.problems, ...findTooManyTokens(tokensSampled, plan, reference)];
    return { ...facts(), ...verdict, problems };
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return { ...facts(), ...UNKNOWN, plan, problems: [problem] };
  } finally {
    await site.close();
  }
}

/** Until the run has ended and everything that was taken away is back. */
async function underDisturbances(
  site: Site,
  { events, struck }: { readonly events: readonly ChaosEvent[]; readonly struck: string[] },
): Promise<void> {
  const over = new AbortController();
  const disturbances = Promise.all(events.map((event) => strike(site, event, { over: over.signal, struck })));
  disturbances.catch(() => undefined);
  try {
    await untilEnded(site);
  } finally {
    over.abort();
    await disturbances;
  }
}

/** A strike costs at most what was in flight. Supervised runs evaluate in ways that are counted elsewhere. */
function findTooManyTokens(found: number, { variant, events }: Plan, reference: Reference): string[] {
  const most = reference.tokensSampled + events.length * TOKENS_IN_FLIGHT;
  if (!variant.startsWith('rl') || !isRepeatable(variant) || found <= most) return [];
  return [`${found} tokens sampled; ${reference.tokensSampled} without disturbances, ${most} at most`];
}

const UNKNOWN = { rewinds: null, stepsReplayed: null, applied: null, orphans: null };

async function judge(
  site: Site,
  plan: Plan,
  reference: Reference,
): Promise<Omit<Verdict, 'seconds' | 'events' | 'notes'>> {
  const observed = await observe(site);
  const leftovers = await findLeftovers(site);
  const applied = ledgerOf(site, { ...plan, observed });
  return {
    plan,
    rewinds: observed.rewinds,
    stepsReplayed: observed.stepsReplayed,
    applied: applied?.count ?? null,
    orphans: leftovers.orphans,
    problems: [
      ...findViolations(observed.outcome, plan.steps),
      ...(isRepeatable(plan.variant) ? findDifferences(observed.outcome, reference.outcome) : []),
      ...leftovers.violations,
      ...(applied?.violations ?? []),
    ],
  };
}

interface Start {
  readonly setting: Setting;
  readonly variant: Variant;
  readonly steps: number;
}

async function startRun(site: Site, { setting, variant, steps }: Start): Promise<void> {
  const config = writeConfig(setting.folder, variant, steps);
  const maxHistoryEvents = HISTORY_EVENTS[variant];
  if (maxHistoryEvents === null) {
    await site.command('train', config, '--run', RUN, '--detach');
    return;
  }
  const { address, store } = site;
  const everstep = await Everstep.connect({ address, store, dataFolder: site.data });
  try {
    await everstep.start(await loadTrainingConfig({ file: config }), { run: RUN, maxHistoryEvents });
  } finally {
    await everstep.close();
  }
}

function ledgerOf(site: Site, run: { steps: number; observed: Observed }) {
  const { stepsReplayed } = run.observed;
  return readAppliedSteps({ dataFolder: site.data, steps: run.steps, stepsReplayed });
}

async function untilEnded(site: Site): Promise<void> {
  const deadline = performance.now() + RUN_LIMIT_MS;
  while (!CLOSED.includes(site.state()?.status ?? '')) {
    if (performance.now() > deadline) {
      const work = await describeOpenWork(site);
      throw new Error(
        `not over after ${RUN_LIMIT_MS / 1000} s: ${site.stepsDone()} steps done; ${work.join('; ')}`,
      );
    }
    await sleep(POLL_MS);
  }
}

interface Watch {
  /** Aborted once the run has ended: what has not struck by then does not strike. */
  readonly over: AbortSignal;
  readonly struck: string[];
}

async function strike(site: Site, event: ChaosEvent, { over, struck }: Watch): Promise<void> {
  while (site.stepsDone() < event.afterStep) {
    if (over.aborted) return;
    await sleep(POLL_MS);
  }
  await sleep(event.delayMs);
  if (over.aborted) return;
  const index = struck.push(describeEvent(event)) - 1;
  const requests = await disturb(site, event);
  if (typeof requests === 'number') struck[index] = `${describeEvent(event)} (${requests} requests)`;
}
