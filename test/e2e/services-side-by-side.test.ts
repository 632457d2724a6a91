import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { readEnvironment } from '../../src/config/environment';
import { DEFAULT_NAMESPACE } from '../../src/config/temporal-connection';
import { findFreePort } from '../../src/stack/free-port';
import { SILENT_PROGRESS } from '../../src/stack/progress';
import { binaryLookup, obtainTemporalBinary } from '../../src/stack/temporal-binary';
import { probeTemporal } from '../../src/stack/temporal-probe';
import { startTemporalServer } from '../../src/stack/temporal-server';
import { kill, Place } from './harness/program';

let places: Place[];

beforeEach(() => {
  places = [new Place(), new Place()];
});

afterEach(async () => {
  for (const place of places) await place.remove();
});

function firstPlace(): Place {
  const [place] = places;
  if (!place) throw new Error('no place');
  return place;
}

test('stacks that are started at once in two folders never meet, and a run in each goes to its end', async () => {
  const devs = await Promise.all(places.map((place) => place.dev()));
  const stacks = places.map((place) => place.stack());
  const runs = await Promise.all(
    places.map((place) => place.run('train', place.config({ steps: 4 }), '--run', 'alike')),
  );

  expect(new Set(stacks.flatMap(({ temporalAddress, engineUrl }) => [temporalAddress, engineUrl])).size).toBe(
    4,
  );
  expect(devs.map(({ stderr }) => stderr).join('')).not.toMatch(/starting it again|was taken/);
  expect(runs.map(({ code }) => code)).toEqual([0, 0]);
  expect(places.map((place) => place.stepsDone('alike'))).toEqual([4, 4]);
});

test('a server that another program put in the place of ours is not taken for ours', async () => {
  const place = firstPlace();
  const real = await obtainTemporalBinary(binaryLookup(readEnvironment(), SILENT_PROGRESS));
  const foreign = path.join(place.folder, 'foreign.pid');
  const release = path.join(place.folder, 'release');
  const binary = place.write(
    'temporal',
    `#!/bin/sh
'${real.path}' "$@" >/dev/null 2>&1 &
echo $! >'${foreign}.new' && mv '${foreign}.new' '${foreign}'
while [ ! -e '${release}' ]; do sleep 0.1; done
echo 'bind: address already in use' >&2
exit 1
`,
  );
  chmodSync(binary, 0o755);
  const port = await findFreePort();
  let isReady = false;

  const starting = startTemporalServer({ binary, port, uiPort: null, databaseFile: null }).then(() => {
    isReady = true;
  });
  const answers = async (): Promise<boolean> =>
    probeTemporal({ address: `127.0.0.1:${port}`, namespace: DEFAULT_NAMESPACE }).then(
      ({ namespaceExists }) => namespaceExists,
      () => false,
    );
  try {
    for (let count = 0; count < 20;) if (await answers()) count++;
    expect(isReady).toBe(false);
    writeFileSync(release, '');
    await expect(starting).rejects.toThrow(/ended while starting.*address already in use/);
  } finally {
    writeFileSync(release, '');
    if (existsSync(foreign)) kill(Number(readFileSync(foreign, 'utf8')));
  }
});
