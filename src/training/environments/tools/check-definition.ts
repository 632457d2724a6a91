import { DomainError } from '../../../core/errors';
import { nearestKey } from '../../../core/nearest-key';
import { isRecord } from '../../../stores/json-lines';

const KEYS = ['name', 'description', 'parameters', 'run', 'maxCalls', 'timeoutSeconds'];

/** Types say what a definition has, and plug-ins are run without them: throws which key of which tool is wrong, and what it has to be. */
export function checkDefinition(given: unknown): void {
  const definition = new Map<string, unknown>(isRecord(given) ? Object.entries(given) : []);
  const name = definition.get('name');
  if (typeof name !== 'string' || name.trim() === '') {
    throw new DomainError(
      'bad-plugin',
      'defineTool: name must be the name that the model calls the tool by.',
    );
  }
  const problem = problemOf(definition);
  if (problem !== null) throw refusedTool(name, problem);
}

export function refusedTool(name: string, problem: string): DomainError {
  return new DomainError('bad-plugin', `defineTool: tool "${name}": ${problem}`);
}

function problemOf(definition: ReadonlyMap<string, unknown>): string | null {
  const unknown = [...definition.keys()].filter((key) => !KEYS.includes(key));
  const inPlace = unknown.length > 0 ? ` It has ${unknown.join(', ')}, which no tool has.` : '';
  const parameters = problemOfParameters(definition.get('parameters'));
  if (parameters !== null) return `parameters ${parameters}${inPlace}`;
  if (typeof definition.get('run') !== 'function')
    return `run must be the function that answers a call.${inPlace} Name that function "run".`;
  const misspelt = unknown.map((key) => [key, nearestKey(key, KEYS)] as const).find(([, meant]) => meant);
  return misspelt ? `Unknown key "${misspelt[0]}". Did you mean "${misspelt[1] ?? ''}"?` : null;
}

const WANTED = 'z.object({ … }) of the package "zod"';

function problemOfParameters(parameters: unknown): string | null {
  if (!isRecord(parameters)) return `must be a schema: ${WANTED}.`;
  if ('_zod' in parameters) return null;
  if ('_def' in parameters)
    return `must be a schema of zod 4, not of zod 3. Update "zod" where the plug-in file lies.`;
  if (Object.values(parameters).some((each) => isRecord(each) && '_zod' in each))
    return 'must be a schema, not the fields of one. Write z.object({ … }) around them.';
  return `must be a schema: ${WANTED}, or z.fromJSONSchema(schema) around a JSON schema.`;
}
