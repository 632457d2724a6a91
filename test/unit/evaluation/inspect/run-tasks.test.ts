import { createWriteStream } from 'node:fs';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ZipFile } from 'yazl';
import type { InspectTask } from '../../../../src/core/benchmark-run';
import { setUpInspect } from '../../../../src/evaluation/inspect/run/python-environment';
import { lastWords, runTask } from '../../../../src/evaluation/inspect/run/run-tasks';

const SECRET = 'hf_0123456789';
const SETTINGS = {
  ...{ temperature: 1, maxTokens: 8, topP: 1 },
  ...{ maxConnections: 4, retryOnError: 0, timeoutSeconds: 20 },
};

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'everstep-inspect-run-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

function header(changes: object = {}) {
  const metrics = { accuracy: { name: 'accuracy', value: 1 } };
  return {
    status: 'success',
    eval: { task: 't', created: '2026-01-01T00:00:00+00:00', model: 'm' },
    results: {
      ...{ total_samples: 1, completed_samples: 1 },
      scores: [{ name: 'match', scorer: 'match', scored_samples: 1, unscored_samples: 0, metrics }],
    },
    ...changes,
  };
}

async function writeLog(members: Record<string, unknown>): Promise<void> {
  const zip = new ZipFile();
  for (const [name, content] of Object.entries(members))
    zip.addBuffer(Buffer.from(JSON.stringify(content)), name);
  zip.end();
  await pipeline(zip.outputStream, createWriteStream(path.join(folder, 'made.eval')));
}

/** In place of Python: keeps its words and environment, and makes the log that was prepared in the folder that it is told. */
async function asInspect(script: string): Promise<void> {
  const python = path.join(folder, 'python');
  const lines = [
    '#!/bin/sh',
    `if [ "$1" = -c ]; then echo 0.3.285; exit; fi`,
    `printf '%s\\n' "$@" > "${folder}/words"; env > "${folder}/env"; echo run >> "${folder}/runs"`,
    `for word in "$@"; do case $word in --log-dir=*) logs=\${word#--log-dir=};; esac; done`,
    `make_log() { cp "${folder}/made.eval" "$logs/a.eval"; }`,
    script,
  ];
  await writeFile(python, lines.join('\n'));
  await chmod(python, 0o755);
  const setup = { cacheFolder: folder, variables: {}, extraPackages: [], onProgress: () => undefined };
  await setUpInspect({ ...setup, python, passed: ['HF_TOKEN', 'NOT_SET'] });
}

function run(task: Partial<InspectTask> = {}, model = 'm') {
  return runTask(
    { task: 'x/t', args: {}, ...task },
    {
      access: {
        cacheFolder: folder,
        variables: { PATH: '/usr/bin:/bin' },
        readVariables: (names) => (names.includes('HF_TOKEN') ? { HF_TOKEN: SECRET } : {}),
        requirePermission: () => undefined,
        serveModel: () => Promise.reject(new Error('served elsewhere')),
      },
      server: { url: 'http://127.0.0.1:1/v1', token: 'token', close: () => Promise.resolve() },
      model,
      settings: SETTINGS,
      folder: path.join(folder, 'logs'),
      identity: 'weights',
      epoch: 1,
      signal: new AbortController().signal,
    },
  );
}

function read(name: string): Promise<string> {
  return readFile(path.join(folder, name), 'utf8');
}

test('a task gets the variables that were named, its roles, and no schema for its tools', async () => {
  await writeLog({ 'header.json': header() });
  await asInspect('make_log');

  (await run({ roles: { grader: 'openai/gpt-4o', critic: { model: 'x/y', temperature: 0 } } })).close();

  const words = (await read('words')).split('\n');
  expect(words).toEqual(
    expect.arrayContaining([
      '--model=openai-api/everstep/m',
      '--model-role=grader=openai/gpt-4o',
      '--model-role=critic={"model":"x/y","temperature":0}',
      'strict_tools=false',
    ]),
  );
  const environment = await read('env');
  expect(environment).toContain(`HF_TOKEN=${SECRET}`);
  expect(environment).toContain('EVERSTEP_API_KEY=token');
  expect(environment).not.toContain('NOT_SET');
});

test.each(['m,openai/gpt-4o', 'm, hf/x', 'm\n'])(
  'no further model comes in with the name %j',
  async (name) => {
    await asInspect('make_log');

    await expect(run({}, name)).rejects.toThrow('cannot be given to Inspect AI');
    await expect(read('words')).rejects.toThrow('ENOENT');
  },
);

test('a finished log is taken as it is', async () => {
  await writeLog({ 'header.json': header() });
  await asInspect('make_log');

  (await run()).close();
  (await run()).close();

  expect(await read('runs')).toBe('run\n');
});

test('a process that somebody killed is started again', async () => {
  await writeLog({ 'header.json': header() });
  await asInspect(`[ "$(wc -l < "${folder}/runs")" = 2 ] && make_log || kill -9 $$`);

  const log = await run();
  log.close();

  expect(log.header.status).toBe('success');
  expect(await read('runs')).toBe('run\nrun\n');
});

test('one that is killed every time ends with that, and not with what its log lacks', async () => {
  await writeLog({ '_journal/start.json': { eval: header().eval } });
  await asInspect('make_log; kill -9 $$');

  await expect(run()).rejects.toThrow('was killed 3 times (SIGKILL)');
});

test('a missing key is answered with how tasks get one, and no key is repeated', async () => {
  await asInspect('echo "the HF_TOKEN $HF_TOKEN is not valid" >&2; exit 1');

  const failure = run();

  await expect(failure).rejects.toThrow(/\[HF_TOKEN\] is not valid\. .*everstep inspect setup --pass NAME/);
  await expect(failure).rejects.not.toThrow(SECRET);
});

test.each([
  ['ended in an error', { status: 'error', error: { message: 'no room' } }, 'its log says error: no room.'],
  ['has no scorer', { results: { total_samples: 1, completed_samples: 1, scores: [] } }, 'it has no scorer'],
])('a task that %s is an error', async (_what, changes, words) => {
  await writeLog({ 'header.json': header(changes) });
  await asInspect('make_log');

  await expect(run()).rejects.toThrow(words);
});

test('where no sample could be scored, the reason of the first is told without what was asked', async () => {
  const message = `ModelGenerateError('\\nRequest: ${'{ }'.repeat(400)}\\n\\nError code: 400 - text alone is read')`;
  await writeLog({
    'samples/1_epoch_1.json': { id: 1, epoch: 1, input: 'a', error: { message } },
    'header.json': header({ results: null }),
  });
  await asInspect('make_log');

  await expect(run()).rejects.toThrow("The first says: Error code: 400 - text alone is read')");
});

test('of a traceback the error at its end is told, whatever stands before', () => {
  const places = Array.from({ length: 40 }, (_, line) => `  File "/a/b.py", line ${line}, in f`);
  const tail = [
    'Traceback (most recent call last):',
    ...places,
    "FileNotFoundError: [Errno 2] No such file: 't3.py'",
  ];

  expect(lastWords(tail.join('\n'))).toBe("FileNotFoundError: [Errno 2] No such file: 't3.py'");
  expect(lastWords('one\ntwo\n')).toContain('two');
});

test('what the launcher refuses is said as it is, and nothing else', async () => {
  await asInspect('echo "everstep: inspect:x/t has no argument cuont." >&2; exit 64');

  await expect(run()).rejects.toMatchObject({
    code: 'bad-config',
    message: 'inspect:x/t has no argument cuont.',
  });
});
