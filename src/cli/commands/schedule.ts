import { Command } from 'commander';
import type { CanarySchedule, ScheduleCheck } from '../../client/schedule-handle';
import { serverWords } from '../../client/server-words';
import { asCalled } from '../../config/how-called';
import { DomainError } from '../../core/errors';
import { secondsOf } from '../../core/duration';
import type { Session } from '../connect';
import { openForReading } from '../connect';
import { escapeControls } from '../escape-controls';
import { EXIT } from '../exit-codes';
import type { Output } from '../output';
import { openOutput } from '../output';
import type { PlaceFlags } from '../service-options';
import { addPlaces, parseCount } from '../service-options';
import { confirmInWords } from './runs-confirm';
import { createScheduleCommand } from './schedule-create';
import { printFirings, printUntold, printPlan, printSchedules } from './schedule-report';

interface ScheduleFlags extends PlaceFlags {
  readonly json?: boolean;
}

type Action = (session: Session, output: Output) => Promise<number>;

export function createCommand(): Command {
  const command = new Command('schedule').description(
    'Canaries: evaluations that the server repeats by itself, and that alarm when a score moves',
  );
  const subcommands = [
    createScheduleCommand(),
    listCommand(),
    showCommand(),
    checkCommand(),
    pauseCommand(),
    resumeCommand(),
    triggerCommand(),
    pinCommand(),
    deleteCommand(),
  ];
  for (const subcommand of subcommands) {
    subcommand.option('--json', 'one JSON document on standard output').exitOverride();
    command.addCommand(addPlaces(subcommand, { store: true }));
  }
  return command;
}

function listCommand(): Command {
  return new Command('list')
    .description('all schedules: how often, what, and how the newest firing ended')
    .action((flags: ScheduleFlags) =>
      perform(flags, async ({ everstep }, output) => {
        const schedules = await everstep.schedules.list();
        output.document({ schedules });
        printSchedules(schedules, output);
        return EXIT.done;
      }),
    );
}

function showCommand(): Command {
  return new Command('show')
    .description('one schedule and its firings: score, interval, verdict')
    .argument('<name>')
    .option('--last <n>', 'only the newest firings (20)', parseCount)
    .action((name: string, flags: ScheduleFlags & { readonly last?: number }) =>
      perform(flags, ({ everstep, hasServer }, output) =>
        showSchedule(everstep.schedules.get(name), { ...flags, hasServer }, output),
      ),
    );
}

/** What its firings came to is in the store, whether a server answers or not. */
async function showSchedule(
  schedule: CanarySchedule,
  { last = 20, hasServer }: { readonly last?: number; readonly hasServer: boolean },
  output: Output,
): Promise<number> {
  const [all, pin, outcomes] = await Promise.all([schedule.firings(), schedule.pin(), schedule.webhooks()]);
  const firings = all.slice(-last);
  const webhooks = outcomes.filter(({ evalRun }) => firings.some((firing) => firing.evalRun === evalRun));
  const latest = await schedule.latest();
  const state = hasServer || all.length === 0 ? await stateOf(() => schedule.state(), all.length > 0) : null;
  output.document({ schedule: state, pin, firings, webhooks });
  if (state === null) output.note(await whyStateless(schedule));
  else printPlan(state, pin, output);
  const shown = latest === null ? firings : [...firings.slice(0, -1), latest];
  printFirings(shown, { isFiring: state?.isFiring === true }, output);
  printUntold(webhooks, output);
  return EXIT.done;
}

async function whyStateless(schedule: CanarySchedule): Promise<string> {
  return (await schedule.isMissing())
    ? `${goneText(schedule)} These are its results.`
    : 'The schedule itself is not on a server that answers: these are its results.';
}

function goneText({ name }: CanarySchedule): string {
  return `The server has no schedule "${name}" (any more): it was deleted, or is on another server.`;
}

async function stateOf<State>(ask: () => Promise<State>, hasResults: boolean): Promise<State | null> {
  try {
    return await ask();
  } catch (error) {
    const isServers = error instanceof DomainError || serverWords(error).code !== null;
    if (hasResults && isServers) return null;
    throw error;
  }
}

function checkCommand(): Command {
  return new Command('check')
    .description('exit 1 when the newest firing alarms, else 0; needs no server')
    .argument('<name>')
    .option('--max-age <time>', 'exit 1 also when the newest firing is older, or there is none yet, e.g. 12h')
    .action((name: string, flags: ScheduleFlags & { readonly maxAge?: string }) =>
      perform(flags, async ({ everstep, hasServer }, output) => {
        const maxAgeSeconds = maxAgeOf(flags.maxAge);
        const schedule = everstep.schedules.get(name);
        const check = await schedule.check({ ...(maxAgeSeconds !== null && { maxAgeSeconds }) });
        if (check.latest === null) await schedule.state();
        output.document(check);
        output.line(checkText(check));
        if (hasServer && check.latest !== null && (await schedule.isMissing())) {
          output.note(`${goneText(schedule)} It fires no more; this is what it came to last.`);
        }
        return check.isAlarming ? EXIT.failed : EXIT.done;
      }),
    );
}

function checkText({ name, latest, reason }: ScheduleCheck): string {
  if (reason !== null) return `${escapeControls(name)} alarms: ${escapeControls(asCalled(reason))}`;
  if (latest === null) return `${escapeControls(name)} has not fired yet.`;
  return `${escapeControls(name)} is as pinned (firing of ${escapeControls(latest.at)}).`;
}

function maxAgeOf(text: string | undefined): number | null {
  if (text === undefined) return null;
  const seconds = secondsOf(text);
  if (seconds !== null) return seconds;
  throw new DomainError('bad-config', `--max-age ${text}: give a time such as 90s, 30m, 6h or 2d.`);
}

interface NotedFlags extends ScheduleFlags {
  readonly reason?: string;
}

function pauseCommand(): Command {
  return new Command('pause')
    .description('no firings until `schedule resume`; one under way goes on')
    .argument('<name>')
    .option('--reason <text>', 'why, shown with the schedule')
    .action((name: string, flags: NotedFlags) =>
      change(flags, { name, past: 'paused', make: (schedule) => schedule.pause(flags.reason) }),
    );
}

function resumeCommand(): Command {
  return new Command('resume')
    .description('fire again at its times')
    .argument('<name>')
    .option('--reason <text>', 'why, shown with the schedule')
    .action((name: string, flags: NotedFlags) =>
      change(flags, { name, past: 'resumed', make: (schedule) => schedule.resume(flags.reason) }),
    );
}

function triggerCommand(): Command {
  return new Command('trigger')
    .description('fire now, besides its times')
    .argument('<name>')
    .action((name: string, flags: ScheduleFlags) =>
      change(flags, { name, past: 'triggered', make: (schedule) => schedule.trigger() }),
    );
}

function pinCommand(): Command {
  return new Command('pin')
    .description('hold later firings against this one: what moved was meant')
    .argument('<name>')
    .option('--firing <time>', 'as `schedule show` writes it (the newest)')
    .action((name: string, flags: ScheduleFlags & { readonly firing?: string }) =>
      perform(flags, async ({ everstep }, output) => {
        const pin = await everstep.schedules.get(name).pinFiring(flags.firing);
        output.document({ name, pin });
        output.line(
          `Later firings of ${escapeControls(name)} are held against the one of ${escapeControls(pin.at)}.`,
        );
        return EXIT.done;
      }),
    );
}

function deleteCommand(): Command {
  return new Command('delete')
    .description('take a schedule away; a firing under way goes on, and results stay')
    .argument('<name>')
    .option('--yes', 'without asking; needed where no terminal is')
    .action((name: string, flags: ScheduleFlags & { readonly yes?: boolean }) =>
      change(flags, {
        name,
        past: 'deleted',
        make: (schedule, output) => deleteSchedule(schedule, flags, output),
      }),
    );
}

async function deleteSchedule(
  schedule: CanarySchedule,
  flags: { readonly yes?: boolean },
  output: Output,
): Promise<void> {
  await schedule.state();
  const name = escapeControls(schedule.name);
  await confirmInWords(output, flags, {
    question: `Delete schedule ${name}? Its results stay.`,
    refusal: `Deleting schedule "${name}" cannot be undone. Repeat it with --yes.`,
    declined: `Schedule "${name}" was not deleted.`,
  });
  await schedule.delete();
}

interface Change {
  readonly name: string;
  /** What it is afterwards. */
  readonly past: string;
  readonly make: (schedule: CanarySchedule, output: Output) => Promise<void>;
}

function change(flags: ScheduleFlags, { name, past, make }: Change): Promise<void> {
  return perform(flags, async ({ everstep }, output) => {
    await make(everstep.schedules.get(name), output);
    output.document({ name, changed: past });
    output.line(`Schedule ${escapeControls(name)} ${past}.`);
    return EXIT.done;
  });
}

async function perform(flags: ScheduleFlags, action: Action): Promise<void> {
  const output = openOutput(flags);
  const session = await openForReading(flags);
  try {
    process.exitCode = await action(session, output);
  } finally {
    await session.close();
  }
}
