import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { importInspectLog } from '../../../src/evaluation/inspect/import-log';
import type { FuzzTarget } from '../target';
import { scratchFolder } from '../target';

const folder = scratchFolder('inspect');

const LOG = {
  version: 2,
  status: 'success',
  eval: {
    ...{
      task: 'sums',
      task_id: 't',
      run_id: 'r',
      created: '2026-01-01T00:00:00+00:00',
      model: 'm',
      task_version: 0,
    },
    ...{ dataset: { name: 'd', samples: 1 }, config: {}, task_args: {}, packages: { inspect_ai: '0.3' } },
  },
  results: {
    ...{ total_samples: 1, completed_samples: 1 },
    scores: [{ name: 'match', scorer: 'match', metrics: { accuracy: { name: 'accuracy', value: 1 } } }],
  },
  stats: {
    started_at: '2026-01-01T00:00:00+00:00',
    completed_at: '2026-01-01T00:00:01+00:00',
    model_usage: {},
  },
  samples: [
    {
      ...{ id: 1, epoch: 1, input: 'q', target: 'a', metadata: {} },
      messages: [
        { role: 'user', content: 'q' },
        { role: 'assistant', content: [{ type: 'text', text: 'a' }] },
      ],
      scores: { match: { value: 'C', answer: 'a' } },
      output: { model: 'm', choices: [], completion: 'a' },
    },
  ],
};

/** Logs of Inspect AI, imported: documents and zips. */
export const target: FuzzTarget = {
  name: 'inspect-logs',
  seeds: () => [JSON.stringify(LOG), zipOf('header.json', JSON.stringify(LOG))],
  words: [
    'NaN',
    'Infinity',
    'samples',
    'scores',
    'value',
    'messages',
    'PK\u0001\u0002',
    'epoch',
    'attachment://',
  ],
  async run(bytes) {
    const file = path.join(folder, 'log.eval');
    writeFileSync(file, bytes);
    rmSync(path.join(folder, 'out'), { recursive: true, force: true });
    await importInspectLog(file, path.join(folder, 'out'));
  },
};

/** A zip with one member that is not packed; its sums are zeros, which only some readers hold against it. */
function zipOf(name: string, text: string): Buffer {
  const [member, content] = [Buffer.from(name), Buffer.from(text)];
  const sizes = Buffer.alloc(14);
  sizes.writeUInt32LE(content.length, 4);
  sizes.writeUInt32LE(content.length, 8);
  sizes.writeUInt16LE(member.length, 12);
  const local = Buffer.concat([
    Buffer.from('504b0304140000000000000000000000'.slice(0, 28), 'hex'),
    sizes,
    Buffer.alloc(2),
    member,
    content,
  ]);
  const central = Buffer.concat([
    Buffer.from('504b01021400140000000000000000000000'.slice(0, 32), 'hex'),
    sizes,
    Buffer.alloc(16),
    member,
  ]);
  const end = Buffer.alloc(22);
  end.write('PK\u0005\u0006', 0, 'latin1');
  end.writeUInt16LE(1, 8);
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(local.length, 16);
  return Buffer.concat([local, central, end]);
}
