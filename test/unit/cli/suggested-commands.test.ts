/** Every command that a message suggests is one that this program takes. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Command } from 'commander';
import ts from 'typescript';
import { asCalled } from '../../../src/config/how-called';
import { createProgram } from '../../../src/cli/main';

const SOURCES = path.resolve('src');
/** In backticks, or to where the sentence or its part ends. */
const COMMAND =
  /`(?:npx )?everstep ([a-z][^`]*)`|(?<![`.\w])(?:npx )?\beverstep ([a-z][^`;,\n]*?)(?=[.,;:]?(?:\s*$|\n)|\. |[;,`]| or )/g;
/** Sentences about the program that name no command. */
const PROSE = /^(?:that|which|builds|finds|already|started|worker versions)\b/;

interface Suggestion {
  readonly file: string;
  readonly words: string;
  readonly text: string;
}

function textOf(node: ts.Node): string | null {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return node.text;
  if (!ts.isTemplateExpression(node)) return null;
  return node.head.text + node.templateSpans.map(({ literal }) => `1${literal.text}`).join('');
}

function isHint(node: ts.Node): boolean {
  return (
    ts.isCallExpression(node.parent) &&
    node.parent.arguments[0] === node &&
    /(?:^|\.)(?:hint|commandHint)$/.test(node.parent.expression.getText())
  );
}

function suggestionsIn(file: string): Suggestion[] {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true);
  const found: Suggestion[] = [];
  const visit = (node: ts.Node): void => {
    const text = textOf(node);
    if (text !== null && isHint(node)) found.push({ file, words: text, text: `npx everstep ${text}` });
    for (const [, quoted, bare = ''] of text?.matchAll(COMMAND) ?? []) {
      found.push({ file, words: quoted ?? bare, text: text ?? '' });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found.filter(({ words }) => !PROSE.test(words));
}

function withoutActions(command: Command): Command {
  command.exitOverride().configureOutput({ writeErr: () => undefined, writeOut: () => undefined });
  command.action(() => undefined);
  for (const inner of command.commands) withoutActions(inner);
  return command;
}

function refusalOf(words: string): string | null {
  const args = words
    .replaceAll(/['"[\]]/g, '')
    .split(/\s+/)
    .filter(Boolean);
  const program = createProgram(args[0]);
  for (const command of program.commands) withoutActions(command);
  const isGroup = (command: Command | undefined) => command !== undefined && command.commands.length > 0;
  const used = program.commands.find((command) => command.name() === args[0]);
  const [, second = ''] = args;
  if (isGroup(used) && used?.registeredArguments.length === 0 && !second.startsWith('-')) {
    if (!used.commands.some((command) => command.name() === second) && args[0] !== 'dev')
      return `no subcommand ${second}`;
  }
  try {
    program
      .exitOverride()
      .configureOutput({ writeErr: () => undefined })
      .parse(['node', 'everstep', ...args]);
    return null;
  } catch (error) {
    return String(error);
  }
}

const SUGGESTIONS = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .flatMap((name) => suggestionsIn(path.join(SOURCES, name)));

test('are many', () => {
  expect(SUGGESTIONS.length).toBeGreaterThan(100);
});

test('are taken as they are written', () => {
  const refused = SUGGESTIONS.flatMap(({ file, words }) => {
    const refusal = refusalOf(words);
    return refusal === null ? [] : [`${path.relative(SOURCES, file)}: ${words}: ${refusal}`];
  });

  expect(refused).toEqual([]);
});

test('are written as this program was called, wherever they stand in a text', () => {
  const called = process.argv[1] ?? '';
  process.argv[1] = path.resolve('bin/everstep.js');
  try {
    const bare = SUGGESTIONS.filter(
      ({ text, words }) => !asCalled(text).includes(`bin/everstep.js ${words}`),
    );

    expect(bare.map(({ file, text }) => `${path.relative(SOURCES, file)}: ${text}`)).toEqual([]);
  } finally {
    process.argv[1] = called;
  }
});
