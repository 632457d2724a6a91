import path from 'node:path';
import { Command } from 'commander';
import type { EvaluationTotals, ShownGroup, ShownRollout } from '../../client/run-rollouts';
import { failuresOf, meanReward } from '../../client/run-rollouts';
import type { Session } from '../connect';
import { escapeControls } from '../escape-controls';
import { EXIT } from '../exit-codes';
import { formatNumber } from '../number-format';
import type { Output } from '../output';
import type { PlaceFlags } from '../service-options';
import { parseCount } from '../service-options';
import { printTable } from '../tables';
import { writeWholeText } from '../whole-output';
import { parseStep } from './runs-change-commands';

export interface RolloutFlags extends PlaceFlags {
  readonly json?: boolean;
  readonly step?: number;
  readonly groups?: number;
  readonly html?: string;
  readonly evaluation?: string;
}

type Perform = (
  flags: RolloutFlags,
  action: (session: Session, output: Output) => Promise<number>,
) => Promise<void>;

/** `runs rollouts` and `runs replay`: what a step or an evaluation sampled, and what a step was trained on. */
export function rolloutCommands(perform: Perform): Command[] {
  return [
    new Command('rollouts')
      .description('what the model wrote in a step or an evaluation, and what it was rewarded with')
      .argument('<run>')
      .option('--step <n>', 'the step that was trained on them (the newest that was sampled)', parseStep)
      .option(
        '--evaluation <name>',
        'those of an evaluation of the step instead, e.g. environments; of runs of any kind',
      )
      .option('--groups <n>', 'so many groups; default 4, with --json all', parseCount)
      .option('--html <file>', 'write them as a page for a browser instead')
      .action((run: string, flags: RolloutFlags) =>
        perform(flags, (session, output) => showSampled(run, { session, output, flags })),
      ),
    new Command('replay')
      .description('compute again, from the journal, what a step was trained on, and compare')
      .argument('<run>')
      .option('--step <n>', 'the step (the newest that was sampled)', parseStep)
      .action((run: string, flags: RolloutFlags) =>
        perform(flags, (session, output) => showReplay(run, { session, output, flags })),
      ),
  ];
}

interface Asked {
  readonly session: Session;
  readonly output: Output;
  readonly flags: RolloutFlags;
}

const SHOWN_GROUPS = 4;

function showSampled(run: string, asked: Asked): Promise<number> {
  const { evaluation } = asked.flags;
  return evaluation === undefined ? showRollouts(run, asked) : showEvaluation(run, evaluation, asked);
}

async function showRollouts(run: string, { session, output, flags }: Asked): Promise<number> {
  const { groups, html } = flags;
  const rollouts = session.everstep.run(run).rollouts();
  const step = flags.step ?? (await rollouts.newestStep());
  if (html !== undefined) return writePage(output, { run, step, html }, await rollouts.page(step, groups));
  const all = await rollouts.read(step);
  if (flags.step === undefined) output.line(`Step ${step}`);
  output.document({ run, step, groups: groups === undefined ? all : all.slice(0, groups) });
  printGroups(output, all.slice(0, groups ?? SHOWN_GROUPS), all.length);
  return EXIT.done;
}

async function showEvaluation(
  run: string,
  evaluation: string,
  { session, output, flags }: Asked,
): Promise<number> {
  const { groups: asked, html } = flags;
  const rollouts = session.everstep.run(run).rollouts();
  const limit = asked ?? (output.isJson ? undefined : SHOWN_GROUPS);
  const found = await rollouts.readEvaluation(evaluation, { step: flags.step, limit });
  const { step, groups, total, totals } = found;
  if (html !== undefined) {
    const page = await rollouts.evaluationPage({ step, evaluator: evaluation }, asked);
    return writePage(output, { run, step, evaluation, html }, page);
  }
  output.document({ run, step, evaluation, ...totals, groups });
  output.line(escapeControls(`Step ${step}, ${evaluation}${totalsText(totals)}`));
  printGroups(output, groups, total);
  return EXIT.done;
}

function totalsText(totals: EvaluationTotals | null): string {
  if (totals === null) return '';
  const { total_correct: correct, total_samples: samples, accuracy } = totals;
  return `: ${formatNumber(correct)} of ${samples} right, accuracy ${formatNumber(accuracy)}`;
}

interface PagePlace {
  readonly run: string;
  readonly step: number;
  readonly evaluation?: string;
  readonly html: string;
}

async function writePage(output: Output, { html, ...place }: PagePlace, page: string): Promise<number> {
  const file = path.resolve(html);
  await writeWholeText(file, page, { option: '--html' });
  output.document({ ...place, file });
  output.line(`Written: ${file}`);
  return EXIT.done;
}

function printGroups(output: Output, shown: readonly ShownGroup[], total: number): void {
  for (const group of shown) printGroup(output, group);
  const hidden = total - shown.length;
  if (hidden > 0) output.line(`${hidden} more groups; --groups ${total} shows all.`);
}

function printGroup(output: Output, shown: ShownGroup): void {
  const { group, id, tags, rollouts } = shown;
  output.line(
    escapeControls(
      `Group ${group}  ${id}  ${tags.join(', ')}  mean reward ${formatNumber(meanReward(shown))}`,
    ),
  );
  for (const failure of failuresOf(shown)) printText(output, failure, 'failed');
  for (const { role, text } of promptOf(rollouts)) printText(output, text, role);
  const answers = rollouts.map(answersOf);
  if (answers.every(isShort)) printAnswerTable(output, rollouts);
  else for (const [member, rollout] of rollouts.entries()) printAnswer(output, rollout, member);
  output.line();
}

const SHORT_CHARACTERS = 60;

/** Short enough to stand in a table. */
function isShort(text: string): boolean {
  return text.length <= SHORT_CHARACTERS && !text.includes('\n');
}

function printAnswerTable(output: Output, rollouts: readonly ShownRollout[]): void {
  const rows = rollouts.map((rollout, member) => [
    String(member),
    formatNumber(rollout.reward),
    rollout.stopReason ?? '',
    answersOf(rollout),
  ]);
  printTable(output, ['rollout', 'reward', 'end', 'the model wrote'], rows);
}

/** What was said, and then what became of it. */
function printAnswer(output: Output, rollout: ShownRollout, member: number): void {
  const { reward, stopReason, turns, tokens, messages, metrics, logs } = rollout;
  const end = stopReason === null ? '' : `, ${stopReason}`;
  const size = `${turns} ${turns === 1 ? 'turn' : 'turns'}, ${tokens} tokens`;
  output.line(
    output.colors.bold(escapeControls(`rollout ${member}: ${formatNumber(reward)}${end}, ${size}`)),
  );
  for (const { role, text } of messages.slice(promptLength(messages))) printText(output, text, role);
  const judged = [
    ...Object.entries(metrics).map(([name, value]) => `${name} ${formatNumber(value)}`),
    ...Object.entries(logs).map(([name, value]) => `${name}: ${value}`),
  ];
  if (judged.length > 0) printText(output, judged.join('; '), 'judged');
}

/** Line by line: no character of the model's steers the terminal. */
function printText(output: Output, text: string, role: string): void {
  const [first = '', ...others] = text.split(/\r?\n/);
  output.line(`  ${output.colors.dim(escapeControls(`${role}:`))} ${escapeControls(first)}`);
  for (const line of others) output.line(`  ${escapeControls(line)}`);
}

/** What came before the model spoke is the same in all of a group. */
function promptOf([first]: readonly ShownRollout[]): ShownRollout['messages'] {
  const messages = first?.messages ?? [];
  return messages.slice(0, promptLength(messages));
}

function promptLength(messages: ShownRollout['messages']): number {
  const turn = messages.findIndex(({ role }) => role === 'assistant');
  return turn < 0 ? messages.length : turn;
}

function answersOf({ messages }: ShownRollout): string {
  const said = messages.slice(promptLength(messages));
  return said.map(({ role, text }) => (role === 'assistant' ? text : `[${role}] ${text}`)).join(' ⏎ ');
}

async function showReplay(run: string, { session, output, flags }: Asked): Promise<number> {
  const rollouts = session.everstep.run(run).rollouts();
  const replayed = await rollouts.replay(flags.step ?? (await rollouts.newestStep()));
  output.document({ run, ...replayed });
  const { groups, updates, sequences, tokens, digest, matches } = replayed;
  if (flags.step === undefined) output.line(`Step ${replayed.step}`);
  const rows = groups.map(({ group, id, rewards, advantages }) => [
    String(group),
    id,
    rewards.map(formatNumber).join(' '),
    advantages === null ? 'by token' : advantages.map(formatNumber).join(' '),
  ]);
  printTable(output, ['group', 'problem', 'rewards', 'advantages'], rows);
  output.line(`${updates} updates of ${sequences} sequences, ${tokens} tokens. Loss inputs ${digest}`);
  output.line(verdictOf(matches));
  return matches === false ? EXIT.failed : EXIT.done;
}

function verdictOf(matches: boolean | null): string {
  if (matches === null) return 'The step was not trained yet, so there is nothing to compare with.';
  return matches
    ? 'Equal to what the step was trained on.'
    : 'This differs from what the step was trained on: rollouts or code have changed since.';
}
