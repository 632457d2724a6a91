import { z } from 'zod';

const CheckLine = z.object({
  check: z.string(),
  status: z.enum(['passed', 'failed', 'skipped']),
  seconds: z.number(),
  detail: z.string().nullable(),
  /** The same for every client that asked for the same thing. */
  fingerprint: z.string().nullable(),
});
export type CheckResult = z.infer<typeof CheckLine>;

export interface ClientResult {
  /** Package and version, e.g. `tinker 0.38.0`. */
  readonly client: string;
  readonly checks: readonly CheckResult[];
  /** A client and a server that are both of others: what it can do there is told, and nothing of ours depends on it. */
  readonly isObserved?: boolean;
}

export interface ServerResult {
  readonly server: string;
  readonly clients: readonly ClientResult[];
}

export function readCheck(line: string): CheckResult {
  return CheckLine.parse(JSON.parse(line));
}

export function failed(check: string, detail: string): CheckResult {
  return { check, status: 'failed', seconds: 0, detail, fingerprint: null };
}

export function skipped(check: string, detail: string): CheckResult {
  return { check, status: 'skipped', seconds: 0, detail, fingerprint: null };
}

/** A check of our own: what it throws is why it failed. */
export async function tryCheck(name: string, body: () => Promise<string | null>): Promise<CheckResult> {
  const startedAt = performance.now();
  try {
    const detail = await body();
    const seconds = (performance.now() - startedAt) / 1000;
    return { check: name, status: 'passed', seconds, detail, fingerprint: null };
  } catch (error) {
    return failed(name, error instanceof Error ? error.message.slice(0, 800) : String(error));
  }
}

/** Checks of our own one after the other, each told as it ends. */
export async function tryInTurn(
  { onCheck }: { readonly onCheck: (check: CheckResult) => void },
  checks: readonly (readonly [name: string, body: () => Promise<string | null>])[],
): Promise<CheckResult[]> {
  const results: CheckResult[] = [];
  for (const [name, body] of checks) {
    const result = await tryCheck(name, body);
    results.push(result);
    onCheck(result);
  }
  return results;
}

/**
 * Numbers must not depend on the client: a check whose fingerprint differs from the first client's becomes a failure
 * of the client that differs.
 */
export function compareClients(clients: readonly ClientResult[]): ClientResult[] {
  const first = new Map<string, { readonly client: string; readonly fingerprint: string }>();
  return clients.map(({ client, checks }) => ({
    client,
    checks: checks.map((check) => {
      if (check.fingerprint === null) return check;
      const known = first.get(check.check);
      if (known === undefined) first.set(check.check, { client, fingerprint: check.fingerprint });
      if (known === undefined || known.fingerprint === check.fingerprint) return check;
      const detail = `${check.fingerprint}, but ${known.fingerprint} for ${known.client}`;
      return { ...check, status: 'failed', detail };
    }),
  }));
}

export function isPassed({ clients }: ServerResult): boolean {
  return (
    clients.length > 0 &&
    clients.every(
      ({ checks, isObserved = false }) =>
        isObserved || (checks.length > 0 && checks.every(({ status }) => status !== 'failed')),
    )
  );
}

/** One row a check, one column a client. */
export function renderMatrix({ server, clients }: ServerResult): string {
  const names = [...new Set(clients.flatMap(({ checks }) => checks.map(({ check }) => check)))];
  const width = Math.max(server.length, ...names.map((name) => name.length));
  const columns = clients.map(({ client }) => Math.max(client.length, 'skipped'.length));
  const row = (first: string, cells: readonly string[]): string =>
    [first.padEnd(width), ...cells.map((cell, index) => cell.padEnd(columns[index] ?? 0))]
      .join('  ')
      .trimEnd();
  const lines = names.map((name) =>
    row(
      name,
      clients.map(({ checks }) => checks.find(({ check }) => check === name)?.status ?? ''),
    ),
  );
  const header = row(
    server,
    clients.map(({ client }) => client),
  );
  return [header, ...lines, row('passed', clients.map(countPassed)), ...remarks(clients)].join('\n');
}

/** One row a server, one column a client: what a person may put together. */
export function renderServers(servers: readonly ServerResult[]): string {
  const clients = [...new Set(servers.flatMap((server) => server.clients.map(({ client }) => client)))];
  const table = [
    ['server', ...clients],
    ...servers.map(({ server, clients: results }) => [
      server,
      ...clients.map((name) => {
        const result = results.find(({ client }) => client === name);
        return result ? verdictOn(result) : '–';
      }),
    ]),
  ];
  const widths = ['server', ...clients].map((_, index) =>
    Math.max(...table.map((row) => row[index]?.length ?? 0)),
  );
  return table
    .map((row) =>
      row
        .map((cell, index) => cell.padEnd(widths[index] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function verdictOn(client: ClientResult): string {
  const counted = client.checks.filter(({ status }) => status !== 'skipped');
  const broken = counted.filter(({ status }) => status === 'failed').map(({ check }) => check);
  if (counted.length === 0) return 'skipped';
  if (broken.length === 0) return `works (${countPassed(client)})`;
  return client.isObserved === true
    ? `fails at ${broken.join(', ')}`
    : `fails (${countPassed(client)} passed)`;
}

function countPassed({ checks }: ClientResult): string {
  const counted = checks.filter(({ status }) => status !== 'skipped');
  return `${counted.filter(({ status }) => status === 'passed').length}/${counted.length}`;
}

function remarks(clients: readonly ClientResult[]): string[] {
  return clients.flatMap(({ client, checks }) =>
    checks
      .filter(({ status }) => status !== 'passed')
      .map(({ check, status, detail }) => `${status}: ${client}, ${check}: ${detail ?? ''}`),
  );
}
