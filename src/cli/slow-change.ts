import type { RunHandle } from '../client/run-handle';
import type { RunReport } from '../client/run-report';
import { escapeControls } from './escape-controls';
import type { Output } from './output';

const FIRST_MS = 5000;
const NEXT_MS = 30_000;

/**
 * Waits for the answer to a change, and says from the fifth second on what keeps it: a change is answered when it is written down,
 * and a store that is full takes no writing.
 */
export async function withReassurance<Answer>(
  answer: Promise<Answer>,
  handle: Pick<RunHandle, 'name' | 'status'>,
  output: Pick<Output, 'note' | 'hint'>,
): Promise<Answer> {
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;
  const tell = async () => {
    const text = await reasonIn(handle, output);
    if (isOver) return;
    output.note(text);
    timer = setTimeout(() => void tell(), NEXT_MS);
  };
  timer = setTimeout(() => void tell(), FIRST_MS);
  try {
    return await answer;
  } finally {
    isOver = true;
    clearTimeout(timer);
  }
}

/** The report may say nothing, or not come: the change is waited for all the same. */
async function reasonIn(
  handle: Pick<RunHandle, 'name' | 'status'>,
  output: Pick<Output, 'hint'>,
): Promise<string> {
  const report = await handle.status().catch(() => null);
  const name = escapeControls(handle.name);
  const look = `How it stands: ${output.hint(`runs show ${name}`)}`;
  return `Run ${name} has not answered yet: ${report === null ? 'nothing can be heard of it' : keptBy(report)}. ${look}`;
}

function keptBy({ waitingFor, waits = [], source }: RunReport): string {
  const what = waitingFor?.what ?? waits.join('; ');
  if (source !== 'workflow')
    return `it waits for ${what || 'a worker'}, and the change is made when one answers`;
  if (what === '') return 'the change is taken, and is answered when what is under way lets it in';
  return `it waits for ${what}. The change is taken, and comes into effect at the latest when that is over`;
}
