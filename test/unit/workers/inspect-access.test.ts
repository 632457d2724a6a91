import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { allowNamed } from '../../../src/client/allow-named';
import { createPermissions } from '../../../src/config/permissions';
import { createInspectAccess } from '../../../src/workers/inspect-access';

let root: string;

beforeEach(() => {
  root = realpathSync(mkdtempSync(path.join(tmpdir(), 'everstep-inspect-access-')));
  for (const folder of ['tasks', 'other/sub']) mkdirSync(path.join(root, folder), { recursive: true });
  for (const file of ['tasks/mine.py', 'other/x.py']) writeFileSync(path.join(root, file), '');
  symlinkSync(path.join(root, 'other/sub'), path.join(root, 'tasks/link'));
  symlinkSync(path.join(root, 'other/x.py'), path.join(root, 'tasks/linked.py'));
});
afterEach(() => {
  rmSync(root, { recursive: true });
});

function require(
  task: string,
  roles: Record<string, unknown> = {},
  args: Record<string, unknown> = {},
): void {
  const dataFolder = path.join(root, 'data');
  const permissions = createPermissions({
    dataFolder,
    store: path.join(root, 'store'),
    pluginFolders: [path.join(root, 'tasks')],
    keyAddresses: ['https://told.example/v1'],
    inspectModels: ['vllm/told/model'],
  });
  createInspectAccess({ dataFolder, permissions }).requirePermission({ task, args, roles });
}

test.each([
  'ROOT/tasks/mine.py@sums',
  'ROOT/tasks/mine.py',
  'inspect_evals/gsm8k',
  'gsm8k',
  'ROOT/tasks/mine.py@a-b.c',
])('%s runs, as this worker was told', (task) => {
  expect(() => {
    require(task.replace('ROOT', root));
  }).not.toThrow();
});

test.each([
  ['another file', 'ROOT/other/x.py@t'],
  ['a slash behind the file', 'ROOT/other/x.py/@t'],
  ['a dot behind the file', 'ROOT/other/x.py/.@t'],
  ['a folder', 'ROOT/other'],
  ['a folder beside', '../other'],
  ['the folder itself', '.'],
  ['a pattern', 'ROOT/oth*/x.p?'],
  ['a pattern in a file', 'ROOT/other/x*.py'],
  ['a set', 'ROOT/other/[x].py'],
  ['a path behind the @', 'ROOT/other/x.py@/../../tasks/mine.py'],
  ['a file behind the @', 'ROOT/other/x.py@mine.py@'],
  ['a file behind another', 'ROOT/other/x.py@ROOT/tasks/mine.py@t'],
  ['a way back behind a link', 'ROOT/tasks/link/../x.py@t'],
  ['a link', 'ROOT/tasks/linked.py@t'],
  ['a way back', 'ROOT/tasks/../other/x.py@t'],
  ['a relative path', 'tasks/mine.py@t'],
  ['a place on a hub', 'hf/owner/repo'],
  ['nothing', ''],
  ['an option', '--model=x'],
])('%s does not run', (_, task) => {
  expect(() => {
    require(task.replaceAll('ROOT', root));
  }).toThrow(/was not told|names no task|no path of a file/);
});

test.each([
  ['a name', 'openai/gpt-4o'],
  ['two names', 'openai/gpt-4o,openai/o3'],
  ['one to load that was told of', 'vllm/told/model'],
  ['settings', { model: 'openai/gpt-4o', temperature: 0 }],
  ['settings in YAML', '{model: openai/gpt-4o, temperature: 0}'],
  ['a service that was told of', { model: 'openai/x', model_args: { base_url: 'https://told.example/v1' } }],
  ['the same in YAML', '{model: openai/x, model_args: {base_url: "https://told.example/v1"}}'],
])('a role may be %s', (_, grader) => {
  expect(() => {
    require('gsm8k', { grader });
  }).not.toThrow();
});

const at = (base_url: string) => ({ model: 'openai/x', model_args: { base_url } });

test.each([
  ['a mapping', at('http://other.example/v1')],
  ['YAML', '{model: openai/x, model_args: {base_url: "http://other.example/v1"}}'],
  ['JSON', JSON.stringify(at('http://other.example/v1'))],
  ['JSON with signs for letters', JSON.stringify(at('http://other.example')).replace('http:', '\\u0068ttp:')],
  ['one of a list', [at('http://other.example')]],
  ['space before it', at(' http://other.example')],
  ['a scheme in capitals', at('HTTP://other.example')],
  ['a socket', { model: 'x/y', model_args: { socket: 'wss://other.example' } }],
  ['what two readers take for two hosts', at('https://told.example\\@other.example')],
  ['a user before it', at('https://told.example@other.example')],
  ['a host alone', { model: 'grok/x', model_args: { api_host: 'other.example' } }],
  ['a name as address', 'http://other.example'],
])('an address that nobody told of gets no key, written as %s', (_, grader) => {
  expect(() => {
    require('gsm8k', { grader });
  }).toThrow(/was not told of http|no plain address|may load/i);
});

test.each([
  ['a role that sets a second one', { 'a=x\ngrader': 'openai/gpt-4o' }],
  ['a role with a model in its name', { 'grader={model: x}#': 'y' }],
  ['no model', { grader: 3 }],
  ['what is no YAML', { grader: '{model: ' }],
])('%s is refused', (_, roles) => {
  expect(() => {
    require('gsm8k', roles);
  }).toThrow('inspect: ');
});

const LOCAL = { model: 'hf/x', model_args: { model_path: '/elsewhere', trust_remote_code: true } };

test.each([
  ['weights of a hub', 'hf/owner/repo'],
  ['weights behind a service', 'openai/gpt-4o,hf/owner/repo'],
  ['weights in a folder', LOCAL],
  ['the same in YAML', '{model: hf/x, model_args: {model_path: /elsewhere, trust_remote_code: true}}'],
  ['a server that is started here', { model: 'vllm/x', model_args: { tool_parser_plugin: '/x.py' } }],
  ['a list of them', ['openai/gpt-4o', LOCAL]],
  ['arguments of the provider', { model: 'openai/x', model_args: { http_client: 'x' } }],
  ['no model at all', { model_args: {} }],
])('a model is loaded only where a person named it: %s', (_, grader) => {
  expect(() => {
    require('gsm8k', { grader });
  }).toThrow('was not told that it may load');

  allowNamed(path.join(root, 'data'), { evaluators: [{ modelRoles: { grader } }] });

  expect(() => {
    require('gsm8k', { grader });
  }).not.toThrow();
});

test('a model that is named in a command is loaded', () => {
  allowNamed(path.join(root, 'data'), { benchmarks: ['inspect:x/y?model-role=grader=vllm/mine'] });

  expect(() => {
    require('gsm8k', { grader: 'vllm/mine' });
  }).not.toThrow();
  expect(() => {
    require('gsm8k', { grader: 'vllm/other' });
  }).toThrow('may load "vllm/other"');
});

test('an argument that is an address has to be told of', () => {
  const require1 = (url: string) => () => {
    require('gsm8k', {}, { judge: [{ url }], prompt: 'See https://other.example/ for more.' });
  };
  expect(require1('https://told.example/v1')).not.toThrow();
  expect(require1(' http://other.example/v1')).toThrow('was not told of http://other.example/v1');

  allowNamed(path.join(root, 'data'), { benchmarks: ['inspect:x/y?url=http://other.example/v1'] });
  expect(require1('http://other.example/v1')).not.toThrow();
});

test('a model that holds itself is none', () => {
  expect(() => {
    require('gsm8k', { grader: '&a {model: x, model_args: *a}' });
  }).toThrow('names no model');
});
