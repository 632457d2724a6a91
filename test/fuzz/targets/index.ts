import type { FuzzTarget } from '../target';

/** Every parser of what others write, by name; one is loaded when it is asked for. */
const LOADERS: Readonly<Record<string, () => Promise<FuzzTarget>>> = {
  'serve-bodies': async () => (await import('./serve-bodies')).serveBodies,
  'engine-bodies': async () => (await import('./engine-bodies')).engineBodies,
  'engine-protobuf': async () => (await import('./engine-protobuf')).engineProtobuf,
  'checkpoint-meta': async () => (await import('./checkpoint-meta')).checkpointMeta,
  safetensors: async () => (await import('./safetensors')).safetensors,
  'weights-archive': async () => (await import('./weights-archive')).weightsArchive,
  age: async () => (await import('./age')).age,
  journals: async () => (await import('./journals')).journals,
  results: async () => (await import('./results')).results,
  configs: async () => (await import('./configs')).configs,
  datasets: async () => (await import('./datasets')).datasets,
  parquet: async () => (await import('./parquet')).parquet,
  'inspect-logs': async () => (await import('./inspect-logs')).inspectLogs,
  graders: async () => (await import('./graders')).graders,
  answers: async () => (await import('./answers')).answers,
  'tool-calls': async () => (await import('./tool-calls')).toolCalls,
  jinja: async () => (await import('./jinja')).jinja,
  queries: async () => (await import('./queries')).queries,
};

export const TARGET_NAMES: readonly string[] = Object.keys(LOADERS);

export async function loadTarget(name: string): Promise<FuzzTarget> {
  return (LOADERS[requireTarget(name)] ?? unknown(name))();
}

export function requireTarget(name: string): string {
  return Object.hasOwn(LOADERS, name) ? name : unknown(name);
}

function unknown(name: string): never {
  throw new Error(`--target is "${name}". Known: ${TARGET_NAMES.join(', ')}.`);
}
