import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

const SOURCES = path.resolve(__dirname, '../../../src');
/** What is loaded at once, and not for its types alone, stands in statements of its own; what is loaded where it is used does not. */
const AT_ONCE = /^(?:import|export) (?!type )(?:[\w*{][^;']*? from )?'([^']+)';/gm;

const requestsOfFiles = new Map<string, readonly string[]>();

/** What a file loads when it is loaded: files of ours, and names of packages. */
function loadedBy(file: string): Set<string> {
  const seen = new Set<string>();
  const visit = (current: string): void => {
    if (seen.has(current)) return;
    seen.add(current);
    for (const request of requestsOf(current)) {
      if (request.startsWith('.')) visit(fileOf(current, request));
      else seen.add(request);
    }
  };
  visit(file);
  return seen;
}

function requestsOf(file: string): readonly string[] {
  const known = requestsOfFiles.get(file);
  if (known) return known;
  const text = readFileSync(path.join(SOURCES, file), 'utf8');
  const requests = [...text.matchAll(AT_ONCE)].map(([, request = '']) => request);
  requestsOfFiles.set(file, requests);
  return requests;
}

function fileOf(from: string, request: string): string {
  const place = path.join(path.dirname(from), request);
  const found = [`${place}.ts`, `${place}/index.ts`].find((file) => existsSync(path.join(SOURCES, file)));
  if (found === undefined) throw new Error(`${from} requires ${request}, which is not there.`);
  return found;
}

describe('loading the commands that only ask', () => {
  test.each(['eval', 'results', 'runs'])('%s leaves to the workers what computes', (command) => {
    const loaded = [...loadedBy(`cli/commands/${command}.ts`)];

    expect(loaded).toContain('@temporalio/client');
    expect(loaded.filter((file) => /^evaluation\/(graders|benchmarks\/index)/.test(file))).toEqual([]);
    expect(loaded.filter((file) => /^(sandboxes|renderers|activities|workers)\//.test(file))).toEqual([]);
    expect(loaded).not.toContain('@huggingface/hub');
    expect(loaded).not.toContain('@temporalio/worker');
  });

  test('eval loads no schemas and no steps of training', () => {
    const loaded = [...loadedBy('cli/commands/eval.ts')];

    expect(loaded).not.toContain('config/training-config.ts');
    expect(loaded.filter((file) => file.startsWith('training/reinforcement/'))).toEqual([]);
  });
});
