import { stripEnds } from '../../../core/strip-ends';
import { bracketedAt, piecesOf, splitAtCommas, withoutBlanks } from './foreign-source';
import { LiteralError } from './literal-error';
import type { FunctionCall, PythonValue } from './python-value';

export type ForeignLanguage = 'java' | 'javascript';

/** No call of the benchmark has a tenth of it, and types in angle brackets take time that grows with its square. */
const MOST_CHARACTERS = 32_768;

const CALL = /^\s*([\p{L}_$][\p{L}\p{N}_$]*(?:\s*\.\s*[\p{L}_$][\p{L}\p{N}_$]*)*)\s*(?=\()/u;
const NAMED = /^([\p{L}_$][\p{L}\p{N}_$]*)\s*=(?![=>])([^]*)$/u;
const QUOTED = /^(["'])[^]*\1$/;
const NEW_OBJECT = /^new\s+([\w.]+\s*(?:<[\w\s,.?<>[\]]*>\s*)?)(?=\()/;
const NEW_ARRAY = /^new\s+(\w+)\s*((?:\[\s*\]\s*)+)(?=\{)/;
const INVOCATION = /^[\w$.]+\s*\([^]*\)$/;

/**
 * One call in Java or JavaScript, brackets around it or not, as the official parsers give it: the arguments with a name, each as text.
 * Throws a LiteralError where it is none.
 */
export function readForeignCall(reply: string, language: ForeignLanguage): readonly FunctionCall[] {
  if (reply.length > MOST_CHARACTERS) throw new LiteralError('too long');
  const bare = stripEnds(reply, '`\n ');
  const source = bare.replace(/^\[/, '').replace(/\]$/, '');
  const [head = '', name] = CALL.exec(source) ?? [];
  if (name === undefined) throw new LiteralError('no call');
  const given = bracketedAt(source, head.length);
  if (!/^[\s;]*$/.test(source.slice(head.length + given.length))) throw new LiteralError('more than a call');
  const args = new Map<string, PythonValue>();
  for (const part of splitAtCommas(given.slice(1, -1))) addArgument(args, part, language);
  return [{ name: name.replaceAll(/\s/g, ''), args }];
}

/** Literals without a name are passed over; a bare name is an argument that no function has. */
function addArgument(args: Map<string, PythonValue>, part: string, language: ForeignLanguage): void {
  const [, name, given] = NAMED.exec(part) ?? [];
  const value = given?.trimStart();
  if (name === undefined || value === undefined) {
    if (/^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(part)) args.set('', { type: 'str', value: part });
    return;
  }
  if (args.has(name)) throw new LiteralError('an argument twice');
  if (!isExpression(value)) throw new LiteralError('no expression');
  const text = language === 'java' ? javaText(value) : unquoted(value);
  args.set(name, { type: 'str', value: text });
}

const HALF = /(?:^[*/%=<>&|:?.,]|[-+*/%=<>&|:?.,!~]$)/;
const SIDE_BY_SIDE = /[\w"\])}]\s+["\w]|""/;
const LABEL = /^[^?]*:|\d\.\d+\.\d/;

/** What no parser would take for a value: operators without a side, values side by side, a label, a number with two points. */
function isExpression(value: string): boolean {
  const outline = piecesOf(value)
    .map(({ kind, text }) => {
      if (kind === 'quoted') return '"';
      return kind === 'bracketed' ? `${text[0] ?? ''}${text.at(-1) ?? ''}` : text;
    })
    .join('')
    .replaceAll(/\b(new|instanceof|typeof|async|function|await|void|in)\s+/g, '')
    .trim();
  return outline !== '' && !HALF.test(outline) && !SIDE_BY_SIDE.test(outline) && !LABEL.test(outline);
}

function unquoted(value: string): string {
  return QUOTED.test(value) && value.length > 1 ? value.slice(1, -1) : value;
}

/** As the official traversal writes a value again: no blanks but in texts and calls, and no bodies of classes. */
function javaText(value: string): string {
  return QUOTED.test(value) ? value.slice(1, -1) : nestedText(value);
}

function nestedText(value: string): string {
  if (QUOTED.test(value) || INVOCATION.test(value)) return value;
  return arrayText(value) ?? objectText(value) ?? withoutBlanks(value);
}

function arrayText(value: string): string | null {
  const [head, type = ''] = NEW_ARRAY.exec(value) ?? [];
  return head === undefined ? null : `new ${type}[]${withoutBlanks(value.slice(head.length))}`;
}

function objectText(value: string): string | null {
  const [head, type = ''] = NEW_OBJECT.exec(value) ?? [];
  if (head === undefined) return null;
  const given = splitAtCommas(bracketedAt(value, head.length).slice(1, -1));
  return `new ${withoutBlanks(type)}(${given.map(nestedText).join(', ')})`;
}
