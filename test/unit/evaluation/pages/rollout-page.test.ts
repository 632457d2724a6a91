import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rolloutPage } from '../../../../src/evaluation/pages/rollout-page';
import { shownGroup } from '../../../../src/training/reinforcement/shown-group';
import { groupOf, rolloutOf } from '../../training/reinforcement/sampled-groups';

const HOSTILE = [
  '</pre></details><script>document.title = "taken"</script>',
  '<img src=x onerror="document.title=\'taken\'"><svg onload="document.title=\'taken\'">',
  '<style>body{display:none}</style><meta http-equiv="refresh" content="0;url=data:text/html,taken">',
  '&lt;script&gt; \u202e \u0000 "\'` <!-- ]]> <base href="http://127.0.0.1:1/">',
];

function pageOf(texts: readonly string[]): string {
  const sampled = groupOf(
    texts[0] ?? '',
    texts.map((text) => rolloutOf(0.5, [5], text)),
  );
  return rolloutPage({
    title: `r & ${texts[0] ?? 's'}`,
    groups: [
      shownGroup(0, { ...sampled, tags: [...texts], errorTypes: [...texts], errorMessages: [...texts] }),
    ],
    hiddenCount: 3,
    command: 'everstep runs rollouts r --step 7 --groups 4',
  });
}

test('shows what a model wrote as text, whatever it wrote', () => {
  const page = pageOf(['<b>id</b>', '</pre><script>alert("x")</script>']);

  expect(page).not.toMatch(/<script|<b>id/);
  expect(page).toContain('&lt;/pre&gt;&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;');
  expect(page).toContain('r &amp; &lt;b&gt;id');
  expect(page).toContain('mean reward 0.5');
  expect(page).toContain(
    '3 more groups: <code>everstep runs rollouts r --step 7 --groups 4 --html FILE</code>',
  );
});

test('says once with what rollouts failed, and how often', () => {
  const failed = {
    errorTypes: ['environment_error', 'grader_error', 'environment_error', 'sampling_error'],
    errorMessages: ['<no> file', 'no verdict', '<no> file'],
  };

  const page = rolloutPage({
    title: 'r',
    groups: [shownGroup(0, { ...groupOf('one', []), ...failed })],
    hiddenCount: 0,
    command: '',
  });

  expect(page.match(/Failed: .*?(?=<\/p>)/g)).toEqual([
    'Failed: environment_error (2 times): &lt;no&gt; file',
    'Failed: grader_error: no verdict',
    'Failed: sampling_error',
  ]);
});

test('says of each rollout what it was judged by', () => {
  const [rollout, text] = rolloutOf(1, [5]);
  const [turn] = rollout.transitions;
  if (!turn) throw new Error('the rollout has a turn');
  const noted = { ...rollout, transitions: [{ ...turn, logs: { explanation: 'wants <18>' } }] };

  const page = rolloutPage({
    title: 'r',
    groups: [shownGroup(0, groupOf('one', [[noted, text]]))],
    hiddenCount: 0,
    command: '',
  });

  expect(page).toContain('correct: 1\nexplanation: wants &lt;18&gt;');
  expect(page).not.toContain('more groups');
});

test('shows the beginning of a long log and how much is left out', () => {
  const [rollout, text] = rolloutOf(1, [5]);
  const [turn] = rollout.transitions;
  if (!turn) throw new Error('the rollout has a turn');
  const noted = { ...rollout, transitions: [{ ...turn, logs: { trace: 'x'.repeat(5_000_000) } }] };

  const page = rolloutPage({
    title: 'r',
    groups: [shownGroup(0, groupOf('one', [[noted, text]]))],
    hiddenCount: 0,
    command: '',
  });

  expect(page.length).toBeLessThan(100_000);
  expect(page).toContain('x\n… 4950000 more characters, which stand in the journal');
});

const BROWSERS = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const [browser] = spawnSync('which', BROWSERS, { encoding: 'utf8' }).stdout.split('\n').filter(Boolean);

if (browser === undefined) {
  test.skip('hostile text in a real browser: none of its programs is on this machine (apt install chromium)', () =>
    undefined);
} else {
  test('hostile text stays text in a real browser', () => {
    const folder = mkdtempSync(join(tmpdir(), 'everstep-page-'));
    try {
      const file = join(folder, 'rollouts.html');
      const plain = readInBrowser(browser, file, pageOf(['harmless']));
      const attacked = readInBrowser(browser, file, pageOf(HOSTILE));

      // The same elements as of harmless text: nothing that a model wrote became one.
      expect(plain.elements).toContain('pre');
      expect(attacked.elements).toEqual(plain.elements);
      expect(attacked.title).toMatch(/^r &amp; &lt;\/pre&gt;/);
      for (const text of ['document.title = "taken"', 'onerror=', 'body{display:none}', 'onload=']) {
        expect(attacked.text).toContain(text);
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
}

interface SeenPage {
  readonly title: string;
  /** Names of the elements that there are, each once. */
  readonly elements: readonly string[];
  readonly text: string;
}

/** The document as the browser has it after its scripts ran. */
function readInBrowser(program: string, file: string, page: string): SeenPage {
  writeFileSync(file, page);
  const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'];
  const profile = `--user-data-dir=${file}.profile`;
  const { stdout, status, stderr } = spawnSync(
    program,
    [...flags, profile, '--virtual-time-budget=2000', '--dump-dom', `file://${file}`],
    { encoding: 'utf8', timeout: 50_000 },
  );
  if (status !== 0) throw new Error(`${program} ended with ${status}: ${stderr.slice(-500)}`);
  const elements = [...stdout.matchAll(/<([a-z][a-z0-9]*)/gi)].map(([, name = '']) => name.toLowerCase());
  return {
    title: /<title>(.*?)<\/title>/s.exec(stdout)?.[1] ?? '',
    elements: [...new Set(elements)].sort(),
    text: stdout.replace(/<[^>]*>/g, ''),
  };
}
