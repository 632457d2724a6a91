import { stripEnds } from '../core/strip-ends';
import type { Range } from './secret-spellings';
import { SECRET_NAME, spelledSecrets } from './secret-spellings';

interface Redacted {
  readonly text: string;
  /** Parts that were replaced. */
  readonly count: number;
}

const REPLACEMENT = '[secret removed]';
const SHORTEST = 8;
const RULE = '@secretlint/secretlint-rule-preset-recommend';

/** `NAME = "value"` in any language, and lines of a file of variables; a name, and a value that is no call or path of names. */
const ASSIGNMENT = /([\w-]{2,80})["']?\]?\s*(?::=|=>|[:=])\s*(?:f|r|b)?(["'`]?)([^\s"'`,;(){}[\]]{8,500})\2/g;
/** The same of several words, which only quotes hold together. */
const QUOTED_WORDS = /([\w-]{2,80})["']?\]?\s*(?::=|=>|[:=])\s*(?:f|r|b)?(["'`])([^"'`\n]{8,500})\2/g;
/** A block of a private key, or what a diff has of it. */
const PRIVATE_KEY =
  /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:[\s\S]{0,20000}?-----END [A-Z ]{0,40}PRIVATE KEY-----|(?:\n[ +-]?(?:[A-Za-z\d+/]{8,}={0,2}|[A-Z][\w-]{2,20}: [^\n]{0,200}|)(?=\n|$)){1,200})/g;
/** What `curl` is told of who asks, and lines of `.pgpass`. */
const USER =
  /(?:\s(?:-u|--user)[ =]?["']?[^\s:"']{1,80}:([^\s"']{4,200})|^[ +-]?[^\s:]{1,200}:(?:\d{1,5}|\*):[^\s:]{1,80}:[^\s:]{1,80}:(\S{4,200})$)/gm;
/** Tinker's, the hub's and Amazon's keys, tokens of the web, and what begins as a key of a service, also where its rest is on another line. */
const KEY =
  /\b(?:tml-[\w-]{8,}|hf_[A-Za-z\d]{30,}|A[KS]IA[A-Z\d]{16}\b|glpat-[\w-]{20,}|[rs]k_(?:live|test)_[A-Za-z\d]{8,}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{5,}|AIza[\w-]{30,}|AGE-SECRET-KEY-1[A-Z\d]{20,}|(?:sk-|gh[oprsu]_|github_pat_|glpat-|xox[abps]-|gsk_|xai-|pplx-|nvapi-|r8_|fw_)(?=[\w-]*\d)[\w-]{8,})/g;
/** What a header says after its scheme; words of a sentence have no digit. */
const AUTHORIZATION = /\b(?:bearer|basic|token)[ \t]+((?=[\w.~+/-]*\d)[\w.~+/-]{8,}={0,2})/gi;
/** What an address carries in its query. */
const IN_QUERY =
  /[?&](?:sig|signature|code|key|auth|pass|pwd|[\w-]*(?:key|token|secret|password))=([^&#\s"'`<>(){}$]{4,})/gi;
/** A whole string that may be part of a key. */
const SHORT_STRING = /(?<=(["'`]))[A-Za-z\d]{16,23}(?=\1)/g;
const LONG_WORD = /(?<![\w/+.-])[A-Za-z\d+/_-]{24,200}={0,2}(?![\w/+.-])/g;
/** `.env`, `.env.local`, `.env-prod`, `.envrc`, `env.local`, `prod.env`, `secrets.toml`; git quotes names with letters beyond ASCII, and writes these as numbers. */
const ENVIRONMENT_FILE =
  /^(?:diff --git|---|\+\+\+|rename (?:from|to)) .*?[/\s"](?:\.env(?:rc|[._-][\w.-]+)?|env(?:\.[\w.-]+)?|secrets\.[\w.-]+|[\w.\\-]+\.env)"?(?:\s|$)/im;
/** The value of a variable; of a value of several lines the others, which have no name. */
const VARIABLE = /^[ +-][ \t]*(?:export[ \t]+)?[\w.]+[ \t]*[=:][ \t]*(\S.*)$/gm;
const OTHER_LINE = /^[ +-](?![+-]{2} )[ \t]*([^\s#=:][^=:\n]*)$/gm;
/** What git shows of a line before. */
const BESIDE_HUNK = /^@@[^@\n]*@@ (\S.*)$/gm;
const BITS_OF_A_KEY = 4;
const BITS_OF_A_PART = 3.75;

/**
 * A text without the keys and passwords in it: known shapes (by secretlint's recommended rules), values of variables and fields that are
 * named as secrets are, every value of a `.env` file in a diff, words that look drawn at random, and `known` wherever they stand.
 */
export async function redactSecrets(text: string, known: readonly string[] = []): Promise<Redacted> {
  const ranges = [
    ...(await rangesOfKnownShapes(text)),
    ...known.filter((secret) => secret.length >= SHORTEST).flatMap((secret) => rangesOf(text, secret)),
    ...[ASSIGNMENT, QUOTED_WORDS].flatMap((pattern) => assignedSecrets(text, pattern)),
    ...[KEY, PRIVATE_KEY].flatMap((pattern) => [...text.matchAll(pattern)].map(rangeOf)),
    ...[...text.matchAll(USER)].map(endOf),
    ...[AUTHORIZATION, IN_QUERY].flatMap((pattern) => [...text.matchAll(pattern)].map(endOf)),
    ...[...text.matchAll(LONG_WORD)].filter(([word]) => isDrawn(word, BITS_OF_A_KEY)).map(rangeOf),
    ...[...text.matchAll(SHORT_STRING)].filter(([word]) => isDrawn(word, BITS_OF_A_PART)).map(rangeOf),
    ...spelledSecrets(text),
    ...valuesOfEnvironmentFiles(text),
  ];
  return replaced(text, merged(ranges));
}

/** Values of variables that are named as secrets are: what the commands of this environment must not repeat. */
export function secretsOf(variables: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(variables).flatMap(([name, value]) =>
    value !== undefined && value.length >= SHORTEST && SECRET_NAME.test(name) ? [value] : [],
  );
}

async function rangesOfKnownShapes(text: string): Promise<Range[]> {
  // Larger than most of the program, and needed once a run.
  const { lintSource } = await import('@secretlint/core');
  const { creator } = await import('@secretlint/secretlint-rule-preset-recommend');
  const config = { rules: [{ id: RULE, rule: creator }] };
  const source = { content: text, filePath: 'code.diff', ext: '.diff', contentType: 'text' } as const;
  const { messages } = await lintSource({ source, options: { config } });
  return messages.map(({ range: [start, end] }) => [start, end]);
}

function rangesOf(text: string, secret: string): Range[] {
  const ranges: Range[] = [];
  for (let at = text.indexOf(secret); at >= 0; at = text.indexOf(secret, at + secret.length)) {
    ranges.push([at, at + secret.length]);
  }
  return ranges;
}

function assignedSecrets(text: string, pattern: RegExp): Range[] {
  return [...text.matchAll(pattern)].flatMap((match) => {
    const [whole, name = '', quote = '', value = ''] = match;
    const isCode = quote === '' && /^[A-Za-z_$][\w$]*(\.[A-Za-z_$][\w$]*)*$/.test(value) && !/\d/.test(value);
    if (!SECRET_NAME.test(name) || isCode) return [];
    const end = match.index + whole.length - quote.length;
    return [[end - value.length, end] as const];
  });
}

/** Letters of both cases with digits between them, spread as by chance: names and paths are not, and digests in one case are none. */
function isDrawn(word: string, bits: number): boolean {
  const isMixed = /[a-z]/.test(word) && /[A-Z]/.test(word) && hasLettersBetweenDigits(word);
  return isMixed && !/^sha\d+-/.test(word) && !word.includes('//') && entropyOf(word) >= bits;
}

function hasLettersBetweenDigits(word: string): boolean {
  return /[A-Za-z]/.test(stripEnds(word, (character) => !/\d/.test(character)));
}

/** Shannon's, in bits a character. */
function entropyOf(word: string): number {
  const counts = new Map<string, number>();
  for (const character of word) counts.set(character, (counts.get(character) ?? 0) + 1);
  const shares = [...counts.values()].map((count) => count / word.length);
  return -shares.reduce((total, share) => total + share * Math.log2(share), 0);
}

/** In a diff, by the files that it names. */
function valuesOfEnvironmentFiles(diff: string): Range[] {
  let at = 0;
  return diff.split(/(?=^diff --git )/m).flatMap((section) => {
    const start = at;
    at += section.length;
    if (!ENVIRONMENT_FILE.test(section)) return [];
    return [VARIABLE, OTHER_LINE, BESIDE_HUNK].flatMap((pattern) =>
      [...section.matchAll(pattern)].map(({ index, 0: line, 1: value = '' }): Range => {
        const end = start + index + line.length;
        return [end - value.length, end];
      }),
    );
  });
}

function rangeOf({ index, 0: word }: RegExpExecArray): Range {
  return [index, index + word.length];
}

/** Of a match that ends with what is secret in it. */
function endOf({ index, 0: whole, 1: first, 2: second }: RegExpExecArray): Range {
  const value = first ?? second ?? '';
  const end = index + whole.length;
  return [end - value.length, end];
}

function merged(ranges: readonly Range[]): Range[] {
  const result: Range[] = [];
  for (const [start, end] of [...ranges].sort(([one], [other]) => one - other)) {
    const last = result.at(-1);
    if (last && start <= last[1]) result[result.length - 1] = [last[0], Math.max(last[1], end)];
    else result.push([start, end]);
  }
  return result;
}

function replaced(text: string, ranges: readonly Range[]): Redacted {
  let result = '';
  let from = 0;
  for (const [start, end] of ranges) {
    result += text.slice(from, start) + REPLACEMENT;
    from = end;
  }
  return { text: result + text.slice(from), count: ranges.length };
}
