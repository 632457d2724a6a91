import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setUpInspect } from '../../../../src/evaluation/inspect/run/python-environment';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'everstep-inspect-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** Makes environments, whose pip unpacks one package of three and the others when it is let. */
const PYTHON = `#!/bin/sh
case "$*" in
  '-m venv '*) mkdir -p "$3/bin" "$3/lib/python3.12/site-packages/pip-25.0.dist-info"; cp "$0" "$3/bin/python" ;;
  *' install '*)
    packages="$(dirname "$0")/../lib/python3.12/site-packages"
    echo 'Installing collected packages: one, two, three'
    sleep 0.3
    mkdir "$packages/one-1.0.dist-info"
    while [ ! -e "$LET" ]; do sleep 0.05; done
    mkdir "$packages/two-1.0.dist-info" "$packages/three-1.0.dist-info" ;;
  *version_info*) echo '3 12' ;;
  *) echo '0.3.285' ;;
esac
`;

test('while packages are unpacked, which takes long and says nothing, it is told how many there are', async () => {
  const python = path.join(folder, 'python3');
  writeFileSync(python, PYTHON);
  chmodSync(python, 0o755);
  const letOn = path.join(folder, 'let');
  const told: string[] = [];

  const report = await setUpInspect({
    cacheFolder: path.join(folder, 'cache'),
    variables: { PATH: `${folder}:${process.env['PATH'] ?? ''}`, LET: letOn },
    extraPackages: [],
    tellEveryMs: 20,
    onProgress: (text) => {
      told.push(text.trim());
      if (text.includes('1 of 3 packages')) writeFileSync(letOn, '');
    },
  });

  expect(report).toMatchObject({ isNew: true, inspectVersion: '0.3.285' });
  expect(told).toContain('downloaded; unpacking 3 packages …');
  expect(told).toContain('1 of 3 packages unpacked …');
  expect(told.at(-1)).toMatch(/^3 of 3: importing/);
});
