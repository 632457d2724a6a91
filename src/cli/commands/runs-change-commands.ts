import { Command, InvalidArgumentError } from 'commander';
import { promotedStep } from '../../client/promoted-step';
import { DomainError } from '../../core/errors';
import {
  changeAnyRun,
  changeRun,
  evaluateRun,
  pauseRun,
  promoteCheckpoint,
  resumeRun,
  setOnRun,
} from './runs-changes';
import type { ChangeFlags, EvaluateFlags, PauseFlags } from './runs-changes';
import { confirmOnTerminal, STOP_AFTER_PAUSE } from './runs-ending';
import { parseSetting, SETTINGS_HELP } from './runs-settings';

/** Commands that change a run that is under way. */
export function changeCommands(): Command[] {
  return [pauseCommand(), resumeCommand(), setCommand(), evalCommand(), promoteCommand()];
}

interface Confirmed {
  readonly yes?: boolean;
}

function pauseCommand(): Command {
  return withReason(new Command('pause'))
    .description(
      'have a run stand still until `runs resume`; what is under way is finished. A pause of more than a minute saves the state and lets go of the model',
    )
    .argument('<run>')
    .option('--at-step <n>', 'the last step before the pause, instead of the next possible', parseStep)
    .option('--for <time>', 'how long, e.g. 90s, 30m, 12h, 2d', parseDuration)
    .option('--then <what>', 'after that time: resume (default) or stop', parseThen)
    .action(async (run: string, flags: PauseFlags & Confirmed) => {
      if (flags.then !== undefined && flags.for === undefined) {
        throw new DomainError('bad-config', '--then says what comes after --for; give both.');
      }
      if (flags.then === 'stop') await confirmOnTerminal(run, flags, STOP_AFTER_PAUSE);
      process.exitCode = await changeRun(run, flags, pauseRun(flags));
    });
}

function resumeCommand(): Command {
  return withReason(new Command('resume'))
    .description('end a pause; a run whose model was let go of opens it from the saved state')
    .argument('<run>')
    .action(async (run: string, flags: ChangeFlags) => {
      process.exitCode = await changeRun(run, flags, resumeRun(flags));
    });
}

function setCommand(): Command {
  return withReason(new Command('set'))
    .description(
      'change the learning rate, the evaluation schedules or the budget (learningRate, evalEvery, infrequentEvalEvery, schedules.NAME.…, budget.…) of a run that goes on',
    )
    .argument('<run>')
    .argument('<settings...>', 'KEY=VALUE')
    .option('--at-step <n>', 'the first step it holds for, instead of the next possible', parseStep)
    .addHelpText('after', `\n${SETTINGS_HELP}`)
    .action(async (run: string, settings: string[], flags: ChangeFlags) => {
      process.exitCode = await changeRun(run, flags, setOnRun(settings.map(parseSetting), flags));
    });
}

function evalCommand(): Command {
  return withReason(new Command('eval'))
    .description(
      'run evaluators of a run once, on its weights as they are or, with RUN@STEP, on a kept checkpoint',
    )
    .argument('<run[@step]>')
    .option('--evaluator <name...>', 'only these; default all that the run has')
    .option('--wait', 'until the scores are there')
    .action(async (target: string, flags: EvaluateFlags) => {
      const { run, step } = parseTarget(target);
      process.exitCode = await changeRun(run, flags, async (handle, output) =>
        evaluateRun(await promotedStep(handle, step), flags)(handle, output),
      );
    });
}

function promoteCommand(): Command {
  return withReason(new Command('promote'))
    .description("mark a kept checkpoint as the run's best (best.json); it does not expire any more")
    .argument('<run@step>', 'a kept checkpoint, e.g. my-run@100')
    .action(async (target: string, flags: ChangeFlags) => {
      const { run, step } = parseTarget(target);
      if (step === null) {
        throw new DomainError('bad-config', `Name the checkpoint by its step: ${run}@STEP.`);
      }
      process.exitCode = await changeAnyRun(run, flags, async (handle, output) =>
        promoteCheckpoint(await promotedStep(handle, step), flags)(handle, output),
      );
    });
}

function withReason(command: Command): Command {
  return command
    .option('--reason <text>', 'why, for controls.jsonl')
    .option('--yes', 'without asking; needed for what ends a run where no terminal is');
}

interface Target {
  readonly run: string;
  /** null where only the run is named. */
  readonly step: number | 'best' | null;
}

function parseTarget(target: string): Target {
  const cut = target.lastIndexOf('@');
  if (cut < 0) return { run: target, step: null };
  const [run, step] = [target.slice(0, cut), target.slice(cut + 1)];
  if (run !== '' && /^\d{1,12}$/.test(step)) return { run, step: Number(step) };
  if (run !== '' && step === 'best') return { run, step };
  const found = step === '' ? 'the step is missing' : `"${step.slice(0, 40)}" is no step`;
  throw new DomainError(
    'bad-config',
    `${target.slice(0, 140)}: ${run === '' ? 'the run is missing' : found}. Write RUN@STEP with a whole number or RUN@best, e.g. ${run || 'my-run'}@100.`,
  );
}

export function parseStep(text: string): number {
  if (/^\d{1,12}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Give a whole number, 0 or more.');
}

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

function parseDuration(text: string): number {
  const [, amount = '', unit = 's'] = /^(\d+(?:\.\d+)?)([smhd])?$/.exec(text) ?? [];
  const seconds = Number(amount) * (UNITS[unit] ?? 1);
  if (amount !== '' && seconds > 0) return seconds;
  throw new InvalidArgumentError('Give a number above 0 and s, m, h or d: 90s, 30m, 12h, 2d.');
}

function parseThen(text: string): 'resume' | 'stop' {
  if (text === 'resume' || text === 'stop') return text;
  throw new InvalidArgumentError('Use resume or stop.');
}
