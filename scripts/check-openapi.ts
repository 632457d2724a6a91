/**
 * Whether the document that `everstep serve` gives under /openapi.json is one: Redocly's lint, the official schema of OpenAPI 3.1, and
 * a client that is generated from it and compiled in strict mode.
 *
 *     npm run check:openapi
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { Validator } from '@seriousme/openapi-schema-validator';
import openapiTypescript from 'openapi-typescript';
import pino from 'pino';
import ts from 'typescript';
import { createServer } from '../src/server/create-server';
import { createRunStore } from '../src/stores/run-store';

/** What a client does with the types; it compiles only where they are those of the answers. */
const CLIENT = `import type { components, paths } from './schema';

type Runs = paths['/api/v1/runs']['get']['responses'][200]['content']['application/json'];
type Run = paths['/api/v1/runs/{run}']['get']['responses'][200]['content']['application/json'];
type Failure = components['schemas']['Error'];

export function describe(runs: Runs, run: Run, failure: Failure): string {
  const names: string[] = runs.runs.map(({ run: name }) => name);
  const { step, totalSteps } = run.run;
  const done: number = step / totalSteps;
  return [...names, done, failure.error.message].join();
}
`;

async function main(): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'everstep-openapi-'));
  try {
    const source = await documentOf(folder);
    const problems = [
      ...(await lint(source)),
      ...(await validate(source)),
      ...(await compileClient(source, folder)),
    ];
    for (const problem of problems) process.stdout.write(`${problem}\n`);
    if (problems.length > 0) process.exitCode = 1;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function documentOf(folder: string): Promise<string> {
  const records = createRunStore(folder);
  const server = createServer({
    guard: { token: null, hosts: [] },
    runs: { records, findTemporal: () => null },
    gateway: {
      records,
      engine: {
        defaultUrl: () => null,
        fixedUrl: null,
        tokenizerOf: () => Promise.reject(new Error('no tokenizer here')),
      },
    },
    logger: pino({ level: 'silent' }),
  });
  try {
    return (await server.app.inject('/openapi.json')).body;
  } finally {
    await server.close();
  }
}

async function lint(source: string): Promise<string[]> {
  const config = await createConfig({ extends: ['recommended'] });
  const problems = await lintFromString({ source, absoluteRef: 'openapi.json', config });
  return problems.map(
    ({ ruleId, message, location }) => `${ruleId}: ${message} (${location[0]?.pointer ?? ''})`,
  );
}

async function validate(source: string): Promise<string[]> {
  const { valid, errors } = await new Validator().validate(JSON.parse(source) as Record<string, unknown>);
  return valid ? [] : [`openapi 3.1: ${JSON.stringify(errors)}`];
}

/** As `astToString` of openapi-typescript, which its CommonJS declarations do not name for TypeScript 7. */
function textOf(nodes: readonly ts.Node[]): string {
  const file = ts.createSourceFile('schema.ts', '', ts.ScriptTarget.Latest);
  const printer = ts.createPrinter();
  return nodes.map((node) => `${printer.printNode(ts.EmitHint.Unspecified, node, file)}\n`).join('');
}

async function compileClient(source: string, folder: string): Promise<string[]> {
  await writeFile(path.join(folder, 'schema.ts'), textOf(await openapiTypescript(source)));
  const client = path.join(folder, 'client.ts');
  await writeFile(client, CLIENT);
  const program = ts.createProgram([client], { strict: true, noEmit: true, skipLibCheck: false, types: [] });
  return ts
    .getPreEmitDiagnostics(program)
    .map(({ messageText }) => `client: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`);
}

void main();
