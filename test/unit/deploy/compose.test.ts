import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { TASK_QUEUES } from '../../../src/core/task-queues';
import { SEARCH_ATTRIBUTES } from '../../../src/stack/temporal-server';

/** No container engine runs the file in CI; these are the properties that must hold without one. */
const ROOT = path.resolve(__dirname, '../../..');
const text = readFileSync(path.join(ROOT, 'docker-compose.yml'), 'utf8');

const Service = z.object({
  image: z.string(),
  build: z.object({ context: z.string(), dockerfile: z.string() }).optional(),
  restart: z.string(),
  command: z.array(z.string()).optional(),
  entrypoint: z.array(z.string()).optional(),
  profiles: z.array(z.string()).optional(),
  environment: z.record(z.string(), z.string()).default({}),
  ports: z.array(z.string()).default([]),
  volumes: z.array(z.string()).default([]),
  depends_on: z.record(z.string(), z.object({ condition: z.string() })).default({}),
  healthcheck: z.object({ test: z.array(z.string()) }).optional(),
});
const Compose = z.object({
  services: z.record(z.string(), Service),
  volumes: z.record(z.string(), z.unknown()),
});
const compose = Compose.parse(parse(text, { merge: true }));
const services = Object.entries(compose.services);
const ONE_SHOT = ['schema', 'namespace'];

test('has a worker service for each role', () => {
  const roles = services
    .filter(([name]) => name.startsWith('worker-'))
    .map(([, service]) => service.command?.slice(0, 3));

  expect(roles).toEqual(Object.keys(TASK_QUEUES).map((role) => ['worker', '--roles', role]));
});

test.each(services)('%s uses a pinned image', (_name, { image }) => {
  const version = /:\$\{\w+:-([^}]+)\}$/.exec(image)?.[1];

  expect(version).toMatch(/^\d+\.\d+(\.\d+)?$/);
});

test.each(services)('%s publishes ports on this host only', (_name, { ports }) => {
  for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
});

test.each(services)('%s waits for what it needs to be healthy or done', (_name, service) => {
  for (const [needed, { condition }] of Object.entries(service.depends_on)) {
    expect(compose.services).toHaveProperty(needed);
    expect(condition).toBe(ONE_SHOT.includes(needed) ? 'service_completed_successfully' : 'service_healthy');
    const probe = compose.services[needed]?.healthcheck;
    expect(probe !== undefined).toBe(condition === 'service_healthy');
  }
});

test('starts in the order database, schema, server, namespace, workers', () => {
  const needs = (name: string): string[] => Object.keys(compose.services[name]?.depends_on ?? {});

  expect([needs('schema'), needs('temporal'), needs('namespace'), needs('worker-training')]).toEqual([
    ['postgresql'],
    ['schema'],
    ['temporal'],
    ['namespace'],
  ]);
});

test.each(services)('%s restarts after a failure, a one-shot service only then', (name, { restart }) => {
  expect(restart).toBe(ONE_SHOT.includes(name) ? 'on-failure:5' : 'unless-stopped');
});

test('contains no secret: each comes from the environment', () => {
  const secrets = services.flatMap(([, { environment }]) =>
    Object.entries(environment).filter(([name]) => /PASSWORD|PWD|KEY|TOKEN/.test(name)),
  );

  expect(secrets.length).toBeGreaterThan(5);
  for (const [, value] of secrets) expect(value).toMatch(/^\$\{\w+:(-|\?set \w+ in \.env)\}$/);
});

test('keeps the engine behind a profile', () => {
  const optional = services.filter(([, { profiles }]) => profiles !== undefined).map(([name]) => name);

  expect(optional).toEqual(['engine']);
});

test('keeps the database and the store in named volumes', () => {
  const named = services.flatMap(([, { volumes }]) => volumes).filter((volume) => !volume.startsWith('./'));

  for (const volume of named) expect(Object.keys(compose.volumes)).toContain(volume.split(':')[0]);
  expect(compose.services['postgresql']?.volumes).toEqual(['postgresql:/var/lib/postgresql/data']);
});

test('mounts and runs files that exist', () => {
  const mounted = services.flatMap(([, { volumes }]) => volumes).filter((volume) => volume.startsWith('./'));
  const scripts = services.flatMap(([, { entrypoint = [] }]) =>
    entrypoint.filter((part) => part.startsWith('/scripts/')),
  );

  for (const volume of mounted) expect(existsSync(path.join(ROOT, volume.split(':')[0] ?? ''))).toBe(true);
  expect(scripts).toHaveLength(2);
  for (const script of scripts) expect(existsSync(path.join(ROOT, 'deploy', script))).toBe(true);
});

test('explains every variable in the example, with the same default', () => {
  const example = readFileSync(path.join(ROOT, 'deploy/env.example'), 'utf8');
  const shown = new Map(
    [...example.matchAll(/^(\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]),
  );

  for (const [, name = '', operator, value = ''] of text.matchAll(/\$\{(\w+):([-?])([^}]*)\}/g)) {
    expect([name, shown.get(name)]).toEqual([name, operator === '?' ? '' : value]);
  }
});

test('creates the search attributes that the embedded server has', () => {
  const script = readFileSync(path.join(ROOT, 'deploy/scripts/setup-namespace.sh'), 'utf8');

  expect([...script.matchAll(/^ensure (\w+) (\w+)$/gm)].map(([, name, type]) => [name, type])).toEqual(
    Object.entries(SEARCH_ATTRIBUTES),
  );
});

test('builds the image on glibc, without development packages, as an ordinary user', () => {
  const dockerfile = readFileSync(path.join(ROOT, 'deploy/Dockerfile'), 'utf8');
  const images = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image);

  expect(new Set(images)).toEqual(new Set(['node:20-bookworm-slim']));
  expect(dockerfile).toContain('npm prune --omit=dev');
  expect(dockerfile).toMatch(/^USER node$/m);
});
