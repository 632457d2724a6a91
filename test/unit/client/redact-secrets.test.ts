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
  ['of a name with a hyphen', 'api-key: zq8dj3kf9s2lqq', 'zq8dj3kf9s2lqq'],
  ['of a header with hyphens', `headers={"x-api-key": "zq8dj3kf9s2lqq"}`, 'zq8dj3kf9s2lqq'],
  ['of a header without a scheme', "-H 'Authorization: zq8dj3kf9s2lqq'", 'zq8dj3kf9s2lqq'],
  ['with a type of Python', `api_key: str = "only-lower-words"`, 'only-lower-words'],
  ['with a type of TypeScript', `const apiKey: string = 'only-lower-words'`, 'only-lower-words'],
  ['with a type of Rust', 'const API_KEY: &str = "zq8dj3kf9s2lqq"', 'zq8dj3kf9s2lqq'],
  ['numbered', "API_KEY_1 = 'zq8dj3kf9s2lqq'", 'zq8dj3kf9s2lqq'],
  ['of a stage', "API_KEY_PROD = 'zq8dj3kf9s2lqq'", 'zq8dj3kf9s2lqq'],
  ['of a list', "API_KEYS = ['zq8dj3kf9s2lqq']", 'zq8dj3kf9s2lqq'],
  ['given to a call', "api_key = SecretStr('zq8dj3kf9s2lqq')", 'zq8dj3kf9s2lqq'],
  ['of a fallback', "k = os.environ.get('API_TOKEN', 'zq8dj3kf9s2lqq')", 'zq8dj3kf9s2lqq'],
  ['of three quotes', "API_KEY = '''zq8dj3kf9s2lqq'''", 'zq8dj3kf9s2lqq'],
  ['of an option', 'run --api-key zq8dj3kf9s2lqq', 'zq8dj3kf9s2lqq'],
  ['of a Dockerfile', 'ENV API_TOKEN zq8dj3kf9s2lqq', 'zq8dj3kf9s2lqq'],
  ['of fish', 'set -x API_TOKEN zq8dj3kf9s2lqq', 'zq8dj3kf9s2lqq'],
  ['of .netrc', 'machine h.example login bob password hunter2hunter2', 'hunter2hunter2'],
  ['of XML', '<password>hunter2hunter2</password>', 'hunter2hunter2'],
  ['of a block of YAML', 'password: |\n+  only words here', 'only words here'],
  ['of a pair of Kubernetes', '- name: API_TOKEN\n+   value: onlywords', 'onlywords'],
  [
    'of Weights & Biases',
    `wandb.login(key="${'0123456789abcdef'.repeat(3).slice(0, 40)}")`,
    '0123456789abcdef',
  ],
  ['after a login', `wandb login ${'0123456789abcdef'.repeat(3).slice(0, 40)}`, '0123456789abcdef'],
  ['of Groq in small letters', `x='gsk_abcdefghijklmnopqrstuvwxyz0123456789'`, 'gsk_abcdefgh'],
  ['of NVIDIA', `x='nvapi-abcdefghijklmnopqrstuvwxyz-0123'`, 'nvapi-abcdefgh'],
  ['of age', `AGE-SECRET-KEY-1${'QYQSZQGP'.repeat(7)}`, 'QYQSZQGP'],
  ['of who asks, in an address', 'https://x:tok3ntok3n@h.example/a', 'tok3ntok3n'],
  ['alone in an address', 'https://onlysmallletters@h.example/a', 'onlysmallletters'],
  ['of a webhook', `https://discord.com/api/webhooks/1234567890/${'ab-cd_'.repeat(9)}`, 'ab-cd_ab'],
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

test.each([
  'a/.env-prod',
  'a/.env_prod',
  '.ENV',
  'env.local',
  '.envrc',
  '"b/gr\\303\\266\\303\\237e/.env"',
  '"gr\\303\\266.env"',
])('a file of variables is known by its name: %s', async (name) => {
  const lines = [`diff --git ${name} ${name}`, `--- ${name}`, `+++ ${name}`, '@@ -1 +1,3 @@'];
  const values = ['+FOO=words', '+CERT="first', '+second', '+BAR: third', '+# remark'];

  const { text } = await redactSecrets([...lines, ...values].join('\n'));

  expect(text.split('\n').slice(0, 4)).toEqual(lines);
  expect(text).not.toMatch(/words|first|second|third/);
  expect(text).toContain('+# remark');
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
    "+const tokens = tokenizer.encode('12 apples', { addSpecial: true });",
    '+git@github.com:me/x and ssh://git@h.example/x',
    '+  numTokens: number = countOf(text),',
    '+https://example.com/some/Long/path/With/Many/Parts/And/Numbers/2026',
  ].join('\n');

  expect(await redactSecrets(code)).toEqual({ text: code, count: 0 });
});

test('a word of a hundred thousand digits and letters is looked at once', async () => {
  const word = `${'1'.repeat(50_000)}${'aB'.repeat(50_000)}`;
  expect(await redactSecrets(`x = ${word}`)).toEqual({ text: `x = ${word}`, count: 0 });
});
