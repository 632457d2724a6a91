import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';

/** The workers of a release must be those of docker-compose.yml, but for what makes them a release. */
const ROOT = path.resolve(__dirname, '../../..');

const Service = z.object({
  image: z.string(),
  restart: z.string(),
  command: z.array(z.string()).optional(),
  environment: z.record(z.string(), z.string()).default({}),
  volumes: z.array(z.string()).default([]),
  stop_grace_period: z.string().optional(),
});
const Compose = z.object({
  name: z.string().optional(),
  services: z.record(z.string(), Service),
  networks: z.record(z.string(), z.object({ external: z.boolean(), name: z.string() })).optional(),
  volumes: z.record(z.string(), z.object({ external: z.boolean(), name: z.string() }).nullable()),
});

function read(file: string): z.infer<typeof Compose> {
  return Compose.parse(parse(readFileSync(path.join(ROOT, file), 'utf8'), { merge: true }));
}

const whole = read('docker-compose.yml');
const release = read('deploy/release.yml');

test('has the workers of every role and nothing else', () => {
  const workers = Object.keys(whole.services).filter((name) => name.startsWith('worker-'));

  expect(Object.keys(release.services)).toEqual(workers);
});

test.each(Object.keys(release.services))('%s is the same worker, with a version', (name) => {
  const { environment: variables, ...worker } = release.services[name] ?? Service.parse({});
  const { environment: ofWhole, ...same } = whole.services[name] ?? Service.parse({});

  expect(worker).toEqual(same);
  expect(variables).toEqual({
    ...ofWhole,
    EVERSTEP_DEPLOYMENT: '${EVERSTEP_DEPLOYMENT:-everstep}',
    EVERSTEP_BUILD_ID: expect.stringMatching(/^\$\{EVERSTEP_BUILD_ID:\?/) as string,
  });
});

test('joins the network and the store of the whole', () => {
  expect(release.networks).toEqual({ everstep: { external: true, name: `${whole.name}_default` } });
  expect(release.volumes).toEqual({ everstep: { external: true, name: `${whole.name}_everstep` } });
});
