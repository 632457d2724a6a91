import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { collectProvenance } from '../../../src/client/provenance';

const KEY = 'tml-this-stands-in-the-checkout';

let folder: string;

function git(...words: string[]): void {
  const who = ['-c', 'user.name=me', '-c', 'user.email=me@example'];
  execFileSync('git', ['-C', folder, ...who, ...words], { stdio: 'ignore' });
}

/** A checkout whose file has changed since its only commit. */
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-provenance-'));
  git('init');
  writeFileSync(join(folder, 'main.py'), 'steps = 1\n');
  git('add', '.');
  git('commit', '-m', 'first');
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

test('a key in the changes of a checkout is not recorded, and the run says so', async () => {
  writeFileSync(join(folder, 'main.py'), `steps = 2\nkey = "${KEY}"\n`);

  const { codeDiff, remarks } = await collectProvenance([], folder);

  expect(codeDiff).toContain('+steps = 2\n+key = "[secret removed]"');
  expect(remarks).toEqual([expect.stringMatching(/^code\.diff: one key or password .* replaced/)]);
});

test('nor one that the cut of a long diff goes through', async () => {
  const lines = `${'x'.repeat(99)}\n`.repeat(640);
  writeFileSync(join(folder, 'main.py'), `${lines.slice(0, 63_300)}"${KEY.repeat(50)}"\n${lines}`);

  const { codeDiff } = await collectProvenance([], folder);

  expect(codeDiff).not.toContain('tml-');
  expect(codeDiff).toMatch(/\[cut here: the diff has \d+ characters\]\n$/);
});

test('nor one in the command', async () => {
  const { command, remarks } = await collectProvenance(['train', '--set', `x=${KEY}`], folder);

  expect(command).toEqual(['train', '--set', 'x=[secret removed]']);
  expect(remarks).toBeUndefined();
});
