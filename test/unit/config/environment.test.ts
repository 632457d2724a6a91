import { userInfo } from 'node:os';
import path from 'node:path';
import { readEnvironment, withheldFrom } from '../../../src/config/environment';
import { readTemporalAddress } from '../../../src/config/temporal-connection';

describe('readEnvironment', () => {
  test.each([
    ['the current folder', {}, {}, '.everstep', '.everstep/store'],
    ['EVERSTEP_HOME', {}, { EVERSTEP_HOME: '/a' }, '/a', '/a/store'],
    ['the command line before EVERSTEP_HOME', { dataDir: 'b' }, { EVERSTEP_HOME: '/a' }, 'b', 'b/store'],
    ['EVERSTEP_STORE', {}, { EVERSTEP_STORE: 'c' }, '.everstep', 'c'],
    ['the command line before EVERSTEP_STORE', { store: 'd' }, { EVERSTEP_STORE: 'c' }, '.everstep', 'd'],
  ])('takes the places from %s', (_from, options, variables, dataFolder, store) => {
    const environment = readEnvironment(options, variables);

    expect(environment.dataFolder).toBe(path.resolve(dataFolder));
    expect(environment.store).toBe(path.resolve(store));
  });

  test('leaves a bucket as it is written', () => {
    expect(readEnvironment({ store: 's3://bucket/runs' }, {}).store).toBe('s3://bucket/runs');
  });

  test('treats an empty variable as one that is not set', () => {
    expect(readEnvironment({}, { TINKER_API_KEY: '', HF_TOKEN: ' ' })).toMatchObject({
      engineApiKey: null,
      huggingFaceToken: null,
    });
  });

  test.each(['store', 'dataDir'])(
    'refuses an empty %s of the command line, which would be the current folder',
    (place) => {
      expect(() => readEnvironment({ [place]: '' }, {})).toThrow('is empty. Name a folder, or leave');
    },
  );

  test('keeps programs in the cache folder of the system', () => {
    expect(readEnvironment({}, { XDG_CACHE_HOME: '/x', HOME: '/h' }).cacheFolder).toBe('/x/everstep');
    expect(readEnvironment({}, { HOME: '/h' }).cacheFolder).toBe('/h/.cache/everstep');
    // Not in the folder that the command is given in, whose programs may be anybody's.
    expect(readEnvironment({}, {}).cacheFolder).toBe(path.join(userInfo().homedir, '.cache/everstep'));
  });

  test('refuses a log level that does not exist, naming those that do', () => {
    expect(() => readEnvironment({}, { EVERSTEP_LOG_LEVEL: 'loud' })).toThrow(/"loud".*debug/);
  });
});

describe('readTemporalAddress', () => {
  const without = { TEMPORAL_CONFIG_FILE: '/nonexistent/temporal.toml' };

  test('is null where nothing is configured', () => {
    expect(readTemporalAddress(without)).toBeNull();
  });

  test('uses the namespace everstep unless another is configured', () => {
    expect(readTemporalAddress({ ...without, TEMPORAL_ADDRESS: 'host:7233' })).toEqual({
      address: 'host:7233',
      namespace: 'everstep',
    });
    expect(
      readTemporalAddress({ ...without, TEMPORAL_ADDRESS: 'host:7233', TEMPORAL_NAMESPACE: 'mine' })
        ?.namespace,
    ).toBe('mine');
  });

  test('turns TLS on with an API key', () => {
    const target = readTemporalAddress({
      ...without,
      TEMPORAL_ADDRESS: 'cloud:7233',
      TEMPORAL_API_KEY: 'secret',
    });

    expect(target).toMatchObject({ apiKey: 'secret', tls: true });
  });

  test('reads client certificates given as data', () => {
    const target = readTemporalAddress({
      ...without,
      TEMPORAL_ADDRESS: 'cloud:7233',
      TEMPORAL_TLS_CLIENT_CERT_DATA: 'certificate',
      TEMPORAL_TLS_CLIENT_KEY_DATA: 'key',
      TEMPORAL_TLS_SERVER_NAME: 'name',
    });

    expect(target?.tls).toEqual({
      serverNameOverride: 'name',
      clientCertPair: { crt: Buffer.from('certificate'), key: Buffer.from('key') },
    });
  });
});

describe('withheldFrom', () => {
  const keys = ['TINKER_API_KEY', 'OPENAI_API_KEY', 'EVERSTEP_JUDGE_API_KEY', 'HF_TOKEN'];
  const token = 'EVERSTEP_SERVE_TOKEN';
  const webhook = 'EVERSTEP_WEBHOOK_ALERTS';
  const variables = Object.fromEntries(
    [...keys, token, webhook, 'PATH', 'MY_KEY'].map((name) => [name, 'x']),
  );
  const withheld = (...[service, options]: Parameters<typeof withheldFrom>) =>
    Object.keys(withheldFrom(service, options, variables)).sort();

  test.each(['engine', 'temporal'] as const)('keeps every secret of ours from the %s', (service) => {
    expect(withheld(service)).toEqual([...keys, token, webhook].sort());
  });

  test('leaves workers the keys of what they ask, and webhooks to those that send them', () => {
    expect(withheld('worker')).toEqual([token, webhook]);
    expect(withheld('worker', { sendsWebhooks: true })).toEqual([token]);
  });
});
