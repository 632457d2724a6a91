import { redactSecrets, secretsOf } from '../../../src/client/redact-secrets';

/** Put together here, so that nothing in this file looks like a key to others who look for them. */
const drawn = (length: number) => 'a1B2c3D4e5F6g7H8i9J0kLmNoPqRsTuVwXyZ'.repeat(9).slice(0, length);

test.each([
  ["Tinker's", `key = "tml-${drawn(20)}"`, `tml-${drawn(20)}`],
  ["OpenAI's", `# sk-${drawn(20)}T3BlbkFJ${drawn(20)}`, `${drawn(20)}T3BlbkFJ`],
  ["Anthropic's", `x = ["sk-ant-api03-${'a'.repeat(93)}AA"]`, 'sk-ant-api03'],
  ['the hub', `login(hf_abcdefghijklmnopqrstuvwxyzABCDEFGH)`, 'hf_abcdefgh'],
  ["GitHub's", `ghp_${drawn(36)}`, 'ghp_'],
  ["AWS's", `aws_access_key_id = AKIAABCDEFGHIJKLMNOP`, 'AKIAABCD'],
  ["Slack's", `xoxb-123456789012-1234567890123-abcdefghijklmnopqrstuvwx`, 'xoxb-1234'],
  ['a token of the web', `eyJ${drawn(20)}.${drawn(40)}.${drawn(30)}`, `eyJ${drawn(20)}`],
  [
    'a private one',
    `-----BEGIN RSA PRIVATE KEY-----\n${`${drawn(60)}\n`.repeat(3)}-----END RSA PRIVATE KEY-----`,
    drawn(60),
  ],
  ["Google's", `"AIza${drawn(35)}"`, 'AIza'],
  ['of a header', "'Authorization: Bearer shortone0123456789'", 'shortone0123456789'],
  ['of a header in base64', '-H "Authorization: Basic bWU6aHVudGVyMmh1bnRlcg=="', 'bWU6aHVudGVyMmh1'],
  ['in a query', '"https://h.example/x?api_key=hunter2&sig=swordfish"', 'hunter2'],
  ['further on in a query', '"https://h.example/x?api_key=hunter2&sig=swordfish"', 'swordfish'],
  ['in an address', `postgres://me:hunter2hunter2@db.example/x`, 'hunter2'],
  ['of a field', `my_api_key: "lower-case-words-only"`, 'lower-case-words-only'],
  ['of a constant', "const PASSWORD = 'correct horse battery'.slice(0); SECRET='swordfish1'", 'swordfish1'],
  ['of JSON', `{"authToken": "abcdefgh"}`, 'abcdefgh'],
  ['of a shell', `export WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567`, '0123456789abcdef'],
  ['of nobody in particular', `connect("${drawn(40)}")`, drawn(40)],
  ['begun on one line', `key = ("sk-proj-${drawn(12)}"`, drawn(12)],
  ['ended on another', `  "${['u2iO9pL4', 'kJ7hG3fD6sA1'].join('')}")`, 'u2iO9pL4'],
  ['of Stripe', `x = "${['sk', 'live', 'AbCdEfGhIjKlMnOp'].join('_')}"`, 'AbCdEfGhIjKlMnOp'],
  ['of GitLab', `x = "${['glpat', 'AbCdEfGhIjKlMnOpQrSt'].join('-')}"`, 'AbCdEfGhIjKlMnOpQrSt'],
  ['of who asks by curl', 'curl -u admin:curlpass123 https://h.example', 'curlpass123'],
  ['of who asks, in quotes', `curl --user "admin:curlpass123" https://h.example`, 'curlpass123'],
  ['in a hash of Ruby or PHP', `'db_pass' => 'arrowpass99'`, 'arrowpass99'],
  ['of several words', `PW: 'open sesame and more'`, 'sesame'],
  ['of a line of .pgpass', 'db.example.com:5432:x:admin:pgpassword77', 'pgpassword77'],
  [
    'at the end of a private one',
    `-----BEGIN OPENSSH PRIVATE KEY-----\n+${drawn(70)}\n+QyNTUxOQAAACB1\n+-----END OPENSSH PRIVATE KEY-----`,
    'QyNTUxOQ',
  ],
  ['in a private one that is cut', `-----BEGIN PRIVATE KEY-----\n+${drawn(64)}\n+QyNTUxOQAAACB1`, 'QyNTUxOQ'],
])('a key, %s, is replaced', async (_, text, secret) => {
  const { text: shown, count } = await redactSecrets(`before\n+${text}\nafter`);

  expect(shown).not.toContain(secret);
  expect(shown).toMatch(/^before\n[^]*\[secret removed\][^]*\nafter$/);
  expect(count).toBeGreaterThan(0);
});

test('every value of a file of variables in a diff is replaced, and of no other file', async () => {
  const diff = [
    'diff --git a/conf/.env.local b/conf/.env.local',
    '--- a/conf/.env.local',
    '+++ b/conf/.env.local',
    '@@ -1,2 +1,3 @@',
    ' HOST=db',
    '-PIN=1234',
    '+export PIN=4321',
    'diff --git a/prod.env b/prod.env',
    '--- a/prod.env',
    '+++ b/prod.env',
    '+PHRASE=open sesame',
    'diff --git a/a.sh b/a.sh',
    '--- a/a.sh',
    '+++ b/a.sh',
    '+PORT=8080',
  ].join('\n');

  const { text, count } = await redactSecrets(diff);

  expect(text).not.toMatch(/db|1234|4321|sesame/);
  expect(text).toContain('+export PIN=[secret removed]');
  expect(text).toContain('+PORT=8080');
  expect(count).toBe(4);
});

test('what the environment holds as a secret is replaced wherever it stands', async () => {
  const known = secretsOf({
    MY_TOKEN: 'plain words here',
    PATH: '/usr/bin',
    SHORT_KEY: 'x',
    API_KEY: undefined,
  });

  expect(known).toEqual(['plain words here']);
  expect(await redactSecrets('say "plain words here" twice: plain words here', known)).toEqual({
    text: 'say "[secret removed]" twice: [secret removed]',
    count: 2,
  });
});

test('code is left as it is', async () => {
  const code = [
    'diff --git a/src/a.ts b/src/a.ts',
    'index 3f2a9bc..77de001 100644',
    '+const apiKey = environment.engineApiKey;',
    '+  apiKey: options.apiKey,',
    "+const key = readKey(process.env['TINKER_API_KEY']);",
    '+token = tokenizer.eos_token',
    '+maxTokens: 4096',
    '+max_tokens=4096,',
    '+"integrity": "sha512-N0XtSTHkWZ5NkwNPk5TfbzHMQsqzQrZMrbZHhbKz7rzXsdWkLrNRTWzNdRKbWVKbQ0H3Q6pZGcBhgvbNHjmEXg=="',
    '+revision = "5ff672c8d1a0be6d2f0c2f9c77d1a9d3a2b1c0de"',
    '+import { createReinforcementBatches } from "./reinforcement/reinforcement-batches";',
    '+class VeryLongNameOfAClassThatNobodyWouldEverChoose2 {}',
    '+https://example.com/some/Long/path/With/Many/Parts/And/Numbers/2026',
  ].join('\n');

  expect(await redactSecrets(code)).toEqual({ text: code, count: 0 });
});

test('a word of a hundred thousand digits and letters is looked at once', async () => {
  const word = `${'1'.repeat(50_000)}${'aB'.repeat(50_000)}`;
  expect(await redactSecrets(`x = ${word}`)).toEqual({ text: `x = ${word}`, count: 0 });
});
