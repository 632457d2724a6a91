import type { Environment } from '../config/environment';
import type { TemporalAddress } from '../config/temporal-connection';
import type { Finding } from './finding';
import { resolveTemporal } from './resolve-temporal';
import { probeTemporal } from './temporal-probe';
import { SEARCH_ATTRIBUTES } from './temporal-server';

const NEEDED = `Runs need ${Object.entries(SEARCH_ATTRIBUTES)
  .map(([name, type]) => `${name} (${type})`)
  .join(', ')}.`;

const SETUP = '`npx everstep setup`';

export async function diagnoseTemporal(environment: Environment): Promise<Finding[]> {
  const name = 'temporal server';
  try {
    const choice = resolveTemporal(environment.dataFolder);
    if (choice.from === 'nothing')
      return [
        { name, status: 'ok', found: 'none running; commands start one when they need it' },
        unknownWithout('namespace', 'a server'),
        unknownWithout('search attributes', 'a server'),
      ];
    const origin = choice.from === 'configuration' ? 'from the Temporal configuration' : 'of the stack';
    return await probeTarget(choice.target, origin);
  } catch (error) {
    const found = error instanceof Error ? error.message : String(error);
    return [{ name, status: 'missing', found, remedy: 'Correct the TEMPORAL_* variables or temporal.toml.' }];
  }
}

async function probeTarget(target: TemporalAddress, origin: string): Promise<Finding[]> {
  const name = 'temporal server';
  const where = `${target.address} ${origin}`;
  try {
    const state = await probeTemporal(target);
    const server: Finding = { name, status: 'ok', found: where };
    if (!state.namespaceExists) {
      const remedy = `${SETUP} creates it, as does temporal operator namespace create -n ${target.namespace}; or set TEMPORAL_NAMESPACE.`;
      return [
        server,
        { name: 'namespace', status: 'missing', found: `no namespace ${target.namespace}`, remedy },
        unknownWithout('search attributes', 'the namespace'),
      ];
    }
    return [
      server,
      { name: 'namespace', status: 'ok', found: target.namespace },
      attributesFinding(state.searchAttributes),
    ];
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return [
      {
        name,
        status: 'missing',
        found: `${where}: ${reason}`,
        remedy: 'Start it, or correct TEMPORAL_ADDRESS.',
      },
      unknownWithout('namespace', 'the server'),
      unknownWithout('search attributes', 'the server'),
    ];
  }
}

function unknownWithout(name: string, what: string): Finding {
  return { name, status: 'note', found: `not known without ${what}` };
}

export function attributesFinding(present: readonly string[] | null): Finding {
  const name = 'search attributes';
  if (present === null)
    return {
      name,
      status: 'note',
      found: 'the server does not let us look',
      remedy: `${NEEDED} ${SETUP} adds them where it may.`,
    };
  const absent = Object.entries(SEARCH_ATTRIBUTES).filter(([attribute]) => !present.includes(attribute));
  if (absent.length === 0) return { name, status: 'ok', found: Object.keys(SEARCH_ATTRIBUTES).join(', ') };
  const commands = absent.map(([attribute, type]) => `--name ${attribute} --type ${type}`).join(' ');
  return {
    name,
    status: 'missing',
    found: `not there: ${absent.map(([attribute]) => attribute).join(', ')}`,
    remedy: `${SETUP} adds them, as does temporal operator search-attribute create ${commands}`,
  };
}
