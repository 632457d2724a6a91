import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { trainingConfigSchema } from '../../../src/config/json-schema';
import { loadTrainingConfig } from '../../../src/config/load-config';

const ANY_LIST: unknown = expect.any(Array);
const ROOT = path.resolve(__dirname, '../../..');

test.each(['sft', 'rl'] as const)('the published schema of %s is the one of the code', (kind) => {
  // After a change: npm run build && node -p "JSON.stringify(require('./dist/config/json-schema').trainingConfigSchema('sft'), null, 2)" > schemas/sft.json
  const published: unknown = JSON.parse(readFileSync(path.join(ROOT, `schemas/${kind}.json`), 'utf8'));

  expect(published).toEqual(JSON.parse(JSON.stringify(trainingConfigSchema(kind))));
});

test('the schema takes the short forms', () => {
  expect(trainingConfigSchema()).toMatchObject({
    properties: { lrSchedule: { anyOf: [{ type: 'string' }, { oneOf: ANY_LIST }] } },
  });
  expect(trainingConfigSchema()).toMatchObject({
    properties: { evaluators: { items: { anyOf: [{ type: 'string' }, { oneOf: ANY_LIST }] } } },
  });
});

const examples = readdirSync(path.join(ROOT, 'examples'), { recursive: true, encoding: 'utf8' }).filter(
  (name) => name.endsWith('.yaml') && !name.includes('.venv'),
);

test.each(examples)('examples/%s is valid and begins with the command that uses it', async (name) => {
  const file = path.join(ROOT, 'examples', name);

  await expect(loadTrainingConfig({ file })).resolves.toMatchObject({ model: expect.any(String) as unknown });
  expect(readFileSync(file, 'utf8')).toMatch(new RegExp(`^# (npx )?everstep \\w+ examples/${name}( |\\n)`));
});

const configs = readdirSync(path.join(ROOT, 'configs')).filter((name) => /\.(yaml|json|ts)$/.test(name));

test.each(configs)('configs/%s is valid and begins with the command that uses it', async (name) => {
  const file = path.join(ROOT, 'configs', name);

  await expect(loadTrainingConfig({ file })).resolves.toMatchObject({ kind: name.split('-')[0] });
  expect(readFileSync(file, 'utf8')).toMatch(new RegExp(`^# everstep \\w+ configs/${name}\\n`));
});
