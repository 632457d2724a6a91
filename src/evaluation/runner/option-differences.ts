import type { BenchmarkRequest, InspectTask, ModelSource } from '../../core/benchmark-run';
import { ownValue } from '../../core/own-value';
import type { ResultIdentity } from '../../stores/eval-store';
import { judgeIdentity } from '../judges/judged-grader';

/** One thing that was asked for otherwise, as a person who gave the options knows it. */
export interface OptionDifference {
  /** The option, or what cannot be given as one. */
  readonly what: string;
  readonly before: string;
  readonly now: string;
}

/** What something was made with: its identity, and where it is known what was asked for. */
export interface Making {
  readonly identity: ResultIdentity;
  readonly request?: Partial<BenchmarkRequest>;
  /** What is said before the question: the option's, or the benchmark's own. */
  readonly systemPrompt?: string | null;
  /** Where the examples came from. */
  readonly source?: string;
  /** Of what is asked alone, whatever the references are; where it is known. */
  readonly questionsHash?: string;
}

const SAMPLING_OPTIONS: Readonly<Record<string, string>> = {
  maxTokens: '--max-tokens',
  temperature: '--temperature',
  topP: '--top-p',
  numSamples: '--samples',
  contextWindow: '--context-window',
  seed: 'the rule of seeds',
};
export const BASE_MODEL = 'the base model';
const SHOWN_HASH = 8;
const SHOWN_TEXT = 200;

/** In which options two requests differ, whatever the benchmark makes of them. */
export function requestDifferences(before: BenchmarkRequest, now: BenchmarkRequest): OptionDifference[] {
  return [
    difference('--output', before.folder, now.folder),
    ...taskDifferences(before.inspectTask, now.inspectTask),
    ...modelDifferences(before.model, now.model),
    difference('--max-examples', before.maxExamples, now.maxExamples),
    difference('--samples', before.numSamples, now.numSamples),
    difference('--temperature', before.temperature, now.temperature),
    difference('--top-p', before.topP, now.topP),
    difference('--max-tokens', before.maxTokens, now.maxTokens),
    difference('--context-window', before.contextWindow, now.contextWindow),
    difference('--system-prompt', before.systemPrompt, now.systemPrompt),
    difference('startDate', before.startDate, now.startDate),
    difference('endDate', before.endDate, now.endDate),
    difference('--judge', judgeNames(before.judges), judgeNames(now.judges)),
    difference('the judges', before.judges?.map(judgeIdentity), now.judges?.map(judgeIdentity)),
    difference('the answers of', before.samplesFrom, now.samplesFrom),
    difference('results regrade', before.isRegrading, now.isRegrading),
    difference('--plugins', before.plugins, now.plugins),
  ].filter(isDifferent);
}

/** Of tasks of Inspect: which, by whose code, and each argument and role by its name. */
function taskDifferences(before?: InspectTask, now?: InspectTask): OptionDifference[] {
  if (before?.task !== now?.task) return [difference('the task', before?.task, now?.task)];
  const shown = (task?: InspectTask) => task?.source?.slice(0, SHOWN_HASH);
  return [
    ...entryDifferences('', before?.args, now?.args),
    ...entryDifferences('model-role ', before?.roles, now?.roles),
    difference('the code of the task (its hash)', shown(before), shown(now)),
  ];
}

type Entries = Readonly<Record<string, unknown>>;

function entryDifferences(mark: string, before: Entries = {}, now: Entries = {}): OptionDifference[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(now)])].sort();
  return names.map((name) => difference(`${mark}${name}`, before[name], now[name]));
}

function judgeNames(judges: BenchmarkRequest['judges']): string | undefined {
  return judges?.map(({ model }) => model.model).join(', ');
}

/** In what two makings of a result differ; what only hashes know is told by what they are hashes of. */
export function makingDifferences(before: Making, now: Making): OptionDifference[] {
  const [there, asked] = [before.identity, now.identity];
  return [
    ...modelNames(before, now),
    difference('the version of the benchmark', there.benchmarkVersion, asked.benchmarkVersion),
    ...graderDifferences(there, asked),
    ...dataDifferences(before, now),
    ...promptDifferences(before, now),
    ...samplingDifferences(there, asked),
  ].filter(isDifferent);
}

/** E.g. `--temperature 0.6, and 0.1 is asked for; the grader "a@1", and "a@2" is asked for`. */
export function differencesText(differences: readonly OptionDifference[]): string {
  return differences
    .map(({ what, before, now }) => `${what} ${before}, and ${now} is asked for`)
    .join('; with ');
}

function modelNames(before: Making, now: Making): OptionDifference[] {
  const [there, asked] = [before.identity, now.identity];
  const names = difference('', there.checkpoint || BASE_MODEL, asked.checkpoint || BASE_MODEL);
  return [
    difference('--model', there.model, asked.model),
    placeDifference({ ...before.request?.model }, { ...now.request?.model }, names),
  ];
}

/** An endpoint, or weights of a training service. */
type ModelPlace = Partial<Pick<ModelSource, 'type'>>;

/** Named by the option of what was begun; what is asked for has its own with it where that is another. */
export function placeDifference(
  there: ModelPlace,
  asked: ModelPlace,
  { before, now }: Pick<OptionDifference, 'before' | 'now'>,
): OptionDifference {
  const [what, option] = [optionOf(there.type ?? asked.type), optionOf(asked.type ?? there.type)];
  return { what, before, now: what === option || before === now ? now : `${option} ${now}` };
}

function optionOf(type: ModelSource['type'] | undefined): string {
  return type === 'endpoint' ? '--endpoint' : '--checkpoint';
}

/** A judged grader's version holds a hash of who judges. */
function graderDifferences(there: ResultIdentity, asked: ResultIdentity): OptionDifference[] {
  const judges = difference('the judges', there.judges, asked.judges);
  const withoutJudges = ({ graderVersion }: ResultIdentity) => graderVersion.replace(/ judges:\w+$/, '');
  return isDifferent(judges)
    ? [judges, difference('the grader', withoutJudges(there), withoutJudges(asked))]
    : [difference('the grader', there.graderVersion, asked.graderVersion)];
}

function dataDifferences(before: Making, now: Making): OptionDifference[] {
  const [identityThere, identityAsked] = [before.identity, now.identity];
  const [there, asked] = [identityThere.dataHash, identityAsked.dataHash];
  if (there === asked) return [];
  const dates = [
    difference('startDate', identityThere.startDate, identityAsked.startDate),
    difference('endDate', identityThere.endDate, identityAsked.endDate),
  ].filter(isDifferent);
  if (dates.length > 0) return dates;
  const told = before.request && now.request ? choiceDifferences(before.request, now.request) : [];
  if (told.length > 0) return told;
  const of = (hash: string, source: string | undefined) =>
    `${hash.slice(0, SHOWN_HASH)}${source === undefined ? '' : ` (${source})`}`;
  const isSameQuestion = before.questionsHash !== undefined && before.questionsHash === now.questionsHash;
  const what = isSameQuestion ? 'the references of the examples (their hash)' : 'the dataset hash';
  return [{ what, before: of(there, before.source), now: of(asked, now.source) }];
}

/** In what a request chooses its examples by. */
function choiceDifferences(
  before: Partial<BenchmarkRequest>,
  now: Partial<BenchmarkRequest>,
): OptionDifference[] {
  return [
    ...taskDifferences(before.inspectTask, now.inspectTask),
    difference('--max-examples', before.maxExamples, now.maxExamples),
  ].filter(isDifferent);
}

/** A prompt is made by the API or renderer and begins with the system prompt. */
function promptDifferences(before: Making, now: Making): OptionDifference[] {
  const [there, asked] = [before.identity.promptHash, now.identity.promptHash];
  if (there === asked) return [];
  const told = [
    difference('--system-prompt', before.systemPrompt, now.systemPrompt),
    ...formatDifferences(before.request?.model, now.request?.model),
  ].filter(isDifferent);
  if (told.length > 0) return told;
  const of = (hash: string) => hash.slice(0, SHOWN_HASH);
  return [{ what: 'the prompt format (its hash)', before: of(there), now: of(asked) }];
}

function modelDifferences(before: ModelSource, now: ModelSource): OptionDifference[] {
  if (JSON.stringify(before) === JSON.stringify(now)) return [];
  const told = [
    difference('--model', before.model, now.model),
    ...formatDifferences(before, now),
    difference('the model at', placeOf(before), placeOf(now)),
  ].filter(isDifferent);
  return told.length > 0
    ? told
    : [{ what: 'the model', before: JSON.stringify(before), now: JSON.stringify(now) }];
}

function formatDifferences(before?: ModelSource, now?: ModelSource): OptionDifference[] {
  const apiOf = (source?: ModelSource) => (source?.type === 'endpoint' ? source.api : undefined);
  const rendererOf = (source?: ModelSource) => (source?.type === 'engine' ? source.renderer : undefined);
  const argumentsOf = (source?: ModelSource) =>
    source?.type === 'engine' ? source.templateArguments : undefined;
  return [
    difference('--api', apiOf(before), apiOf(now)),
    difference('--renderer', rendererOf(before), rendererOf(now)),
    difference('templateArguments', argumentsOf(before), argumentsOf(now)),
  ];
}

function placeOf(source: ModelSource): string {
  if (source.type === 'endpoint') return source.url;
  return (
    source.label ?? source.path ?? `the base model${source.url === undefined ? '' : ` of ${source.url}`}`
  );
}

function samplingDifferences(there: ResultIdentity, asked: ResultIdentity): OptionDifference[] {
  const keys = [...new Set([...Object.keys(there.sampling), ...Object.keys(asked.sampling)])].sort();
  return keys.map((key) =>
    difference(
      ownValue(SAMPLING_OPTIONS, key) ?? `sampling.${key}`,
      there.sampling[key],
      asked.sampling[key],
    ),
  );
}

function difference(what: string, before: unknown, now: unknown): OptionDifference {
  return { what, before: textOf(before), now: textOf(now) };
}

function isDifferent({ before, now }: OptionDifference): boolean {
  return before !== now;
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return 'unset';
  const text = JSON.stringify(value);
  return text.length > SHOWN_TEXT ? `${text.slice(0, SHOWN_TEXT)}… (${text.length} characters)` : text;
}
