import { Command } from 'commander';
import { addresseesOf } from '../../client/check-endpoint';
import type { CanaryOptions } from '../../client/schedule-request';
import { isRangeKnown } from '../../client/schedule-request';
import type { ModelSource } from '../../core/benchmark-run';
import { WEBHOOK_MOST_SECONDS } from '../../core/canary-webhook';
import { secondsOf } from '../../core/duration';
import { DomainError } from '../../core/errors';
import type { Session } from '../connect';
import { openForReading } from '../connect';
import { escapeControls } from '../escape-controls';
import { EXIT } from '../exit-codes';
import type { Output } from '../output';
import { openOutput } from '../output';
import { repeated } from '../repeated-option';
import { refuseUselessAddresses } from './eval-endpoint';
import { refuseUselessFiles } from './eval-files';
import type { EvalFlags } from './eval-options';
import { refuseUnjudged } from './judge-options';
import { addAskingOptions, canonicalNames, optionsFrom } from './eval-options';
import { printPlan } from './schedule-report';

interface CreateFlags extends EvalFlags {
  readonly benchmark: readonly string[];
  readonly every?: string;
  readonly cron?: string;
  readonly timezone?: string;
  readonly pin?: readonly string[];
  readonly pinFirst?: boolean;
  readonly band?: string;
  readonly deadline?: string;
  readonly webhook?: string;
  readonly webhookHeader?: readonly string[];
}

export function createScheduleCommand(): Command {
  const command = new Command('create')
    .description('repeat an evaluation of an endpoint or a frozen checkpoint, and alarm when the score moves')
    .argument('<name>')
    .requiredOption('--benchmark <names...>', 'e.g. gsm8k ifeval')
    .option('--every <time>', 'e.g. 30m, 6h, 1d')
    .option('--cron <expression>', 'e.g. "0 */6 * * *", or @daily')
    .option('--timezone <zone>', 'of --cron, e.g. Europe/Berlin (UTC)')
    .option('--model <name>', 'what the endpoint or the engine calls the model')
    .option('--endpoint <url>', 'OpenAI-compatible endpoint, e.g. http://127.0.0.1:8000/v1')
    .option('--api <api>', 'API of the endpoint: chat or completions (chat)')
    .option(
      '--checkpoint <checkpoint>',
      'RUN@STEP, RUN@best, or tinker://… with --model; RUN is its newest one now',
    )
    .option('--engine <url>', 'training service, or "tinker"; without --checkpoint its base model is asked')
    .option('--renderer <name>', "how conversations become tokens (the run's, else the model's)")
    .option('--pin <score>', 'what the score should be; BENCHMARK=SCORE where there are several', repeated)
    .option('--pin-first', 'hold later firings against the first one that scores everything (default)')
    .option(
      '--band <level>',
      'share of firings of an unchanged model that do not alarm, or noise-floor (0.95)',
    )
    .option('--deadline <time>', 'a firing without a score by then has failed (the time between firings)')
    .option('--webhook <url>', 'where alarms are posted; env:EVERSTEP_WEBHOOK_NAME for a secret address')
    .option(
      '--webhook-header <name=variable>',
      'header whose value is in EVERSTEP_WEBHOOK_… of the workers',
      repeated,
    );
  addAskingOptions(command);
  return command.action(async (name: string, flags: CreateFlags) => {
    process.exitCode = await create(name, flags);
  });
}

async function create(name: string, flags: CreateFlags): Promise<number> {
  const output = openOutput(flags);
  const options = optionsOf(flags);
  const session = await openForReading(flags);
  try {
    requireServer(session, output);
    await refuseUselessFiles(options, flags);
    await refuseUselessAddresses(
      {
        addressees: addresseesOf(options),
        flags,
        isBegun: () => Promise.resolve(false),
        undone: 'No schedule was made',
        waits: 'Firings wait for it.',
      },
      output,
    );
    const schedule = await session.everstep.schedules.create(name, options);
    const state = await schedule.state();
    output.document({ schedule: state });
    printPlan(state, null, output);
    await remark(session, options, output);
    const expiry = expiryNote(options.checkpoint, state.request.model);
    if (expiry !== null) output.note(expiry);
    return EXIT.done;
  } finally {
    await session.close();
  }
}

function requireServer({ hasServer }: Session, output: Output): void {
  if (hasServer) return;
  throw new DomainError(
    'temporal-unavailable',
    `A schedule needs a server and workers that stay. Run \`${output.hint('dev')}\` in another terminal, or set TEMPORAL_ADDRESS.`,
  );
}

function optionsOf(flags: CreateFlags): CanaryOptions {
  const { benchmark, every, cron, timezone, pin = [], pinFirst, band, deadline, webhook } = flags;
  const { webhookHeader = [] } = flags;
  if (pinFirst && pin.length > 0) {
    throw new DomainError('bad-config', '--pin and --pin-first: give one of the two.');
  }
  const asking = optionsFrom(flags);
  if (asking.run !== undefined || asking.output !== undefined) {
    throw new DomainError(
      'bad-config',
      'Each firing has an eval run of its own. Leave --run and --output out.',
    );
  }
  const benchmarks = canonicalNames(benchmark, flags);
  refuseUnjudged(benchmarks, asking);
  return {
    ...asking,
    benchmarks,
    ...{ every, cron, timezone, deadline, webhook },
    pin: pinOf(pin),
    band: bandOf(band),
    webhookHeaders: pairsOf('--webhook-header', webhookHeader),
  };
}

function pinOf(pins: readonly string[]): CanaryOptions['pin'] {
  const [only, ...others] = pins;
  if (only === undefined) return 'first';
  if (others.length === 0 && !only.includes('=')) return numberOf('--pin', only);
  const pairs = Object.entries(pairsOf('--pin', pins));
  return Object.fromEntries(pairs.map(([name, score]) => [name, numberOf('--pin', score)]));
}

function bandOf(text: string | undefined): CanaryOptions['band'] {
  if (text === undefined || text === 'noise-floor') return text;
  return numberOf('--band', text);
}

function numberOf(flag: string, text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isFinite(value)) return value;
  throw new DomainError('bad-config', `${flag} ${text}: give a number.`);
}

function pairsOf(flag: string, texts: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    texts.map((text) => {
      const cut = text.indexOf('=');
      if (cut > 0) return [text.slice(0, cut), text.slice(cut + 1)];
      throw new DomainError('bad-config', `${flag} ${text.slice(0, 60)}: write NAME=VALUE.`);
    }),
  );
}

/** A firing ends when its webhook has been told, and the next one does not begin before; null where that cannot matter. */
export function repeatsNote({ webhook, every }: Pick<CanaryOptions, 'webhook' | 'every'>): string | null {
  if (webhook === undefined) return null;
  if ((secondsOf(every ?? '') ?? 0) > WEBHOOK_MOST_SECONDS) return null;
  return `A firing that alarms lasts until its webhook has answered, up to ${WEBHOOK_MOST_SECONDS / 60} minutes. One that is due meanwhile is left out; \`schedule show\` counts those.`;
}

/** What would make the schedule fail later, and can be seen now. */
async function remark(
  { everstep, isEmbedded }: Session,
  options: CanaryOptions,
  output: Output,
): Promise<void> {
  if (isEmbedded) {
    output.note('This server ends with the command that started it. `npx everstep dev` keeps one running.');
  }
  const repeats = repeatsNote(options);
  if (repeats !== null) output.note(repeats);
  const advice = await everstep.workerAdvice();
  if (advice !== null) output.note(advice);
  const { pin, benchmarks } = options;
  const unbounded = [benchmarks].flat().filter((name) => !isRangeKnown(name));
  if (pin !== 'first' && unbounded.length > 0) {
    output.note(
      `What scores of ${unbounded.map(escapeControls).join(', ')} lie between is not known here: look whether the pin is one of them.`,
    );
  }
}

/** How a checkpoint is kept; null where it is none of a run, or whoever promoted it keeps it. */
export function expiryNote(checkpoint: string | undefined, model: ModelSource): string | null {
  if (checkpoint === undefined || checkpoint.includes('://') || checkpoint.endsWith('@best')) return null;
  // Its newest is another one later.
  const pinned = model.type === 'engine' ? model.label : null;
  if (pinned === null) return null;
  return `Checkpoints may expire. \`npx everstep runs promote ${escapeControls(pinned)}\` keeps this one for good.`;
}
