import { z } from 'zod';
import { EVERSTEP_VERSION } from '../../core/version';
import { ErrorBody } from './error-body';
import type { Answer, RouteSpec } from './route';

/** Said by the document itself, or by where a schema stands in it. */
const OWN_FIELDS = ['$schema', 'id', '$id'];

type JsonSchema = Record<string, unknown>;

/** The OpenAPI 3.1 document of the routes there are. */
export function describeRoutes(
  specs: readonly RouteSpec[],
  options: { readonly asksForToken: boolean },
): object {
  const schemas = new SchemaCollection();
  const paths: Record<string, Record<string, object>> = {};
  for (const spec of specs) {
    const path = (paths[spec.path] ??= {});
    path[spec.method.toLowerCase()] = operationOf(spec, schemas);
  }
  return {
    openapi: '3.1.0',
    // Where it was asked.
    servers: [{ url: '/' }],
    info: {
      title: 'Everstep',
      version: EVERSTEP_VERSION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      description:
        'Runs, scores and live events of Everstep, and an OpenAI-compatible gateway to their checkpoints.',
    },
    paths,
    components: {
      schemas: schemas.all,
      ...(options.asksForToken && { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } }),
    },
    security: options.asksForToken ? [{ token: [] }] : [],
  };
}

/** Schemas with a name of their own stand once under `components`. */
class SchemaCollection {
  readonly all: Record<string, JsonSchema> = {};

  refer(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
    const { $defs: definitions, ...json } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
    for (const [name, definition] of Object.entries(definitions ?? {})) this.keep(name, definition);
    const name = schema.meta()?.id;
    if (name === undefined) return pointToComponents(json);
    // A schema that others refer to stands among its own definitions, and is itself a reference to that.
    if (definitions?.[name] === undefined) this.keep(name, json);
    return { $ref: `#/components/schemas/${name}` };
  }

  private keep(name: string, definition: object): void {
    this.all[name] = pointToComponents(definition);
  }
}

function pointToComponents(schema: object): JsonSchema {
  const text = JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/');
  const moved: unknown = JSON.parse(text);
  const kept = Object.entries(typeof moved === 'object' && moved !== null ? moved : {});
  return Object.fromEntries(kept.filter(([name]) => !OWN_FIELDS.includes(name)));
}

function operationOf(spec: RouteSpec, schemas: SchemaCollection): object {
  const parameters = [
    ...parametersOf(spec.parameters, { place: 'path', schemas }),
    ...parametersOf(spec.query, { place: 'query', schemas }),
  ];
  return {
    operationId: spec.id,
    summary: spec.summary,
    tags: [spec.tag],
    ...(parameters.length > 0 && { parameters }),
    ...(spec.body && {
      requestBody: {
        required: true,
        content: { 'application/json': { schema: schemas.refer(spec.body, 'input') } },
      },
    }),
    responses: {
      ...Object.fromEntries(
        Object.entries(spec.answers).map(([status, answer]) => [status, answerOf(answer, schemas)]),
      ),
      '4XX': answerOf({ description: 'Why it was refused', schema: ErrorBody }, schemas),
      default: answerOf({ description: 'Why it failed', schema: ErrorBody }, schemas),
    },
  };
}

interface ParameterOptions {
  readonly place: 'path' | 'query';
  readonly schemas: SchemaCollection;
}

function parametersOf(fields: z.ZodObject | undefined, { place, schemas }: ParameterOptions): object[] {
  return Object.entries(fields?.shape ?? {}).map(([name, field]) => {
    const schema = field instanceof z.ZodType ? field : z.unknown();
    const description = schema.description;
    return {
      name,
      in: place,
      required: place === 'path' || !schema.safeParse(undefined).success,
      ...(description !== undefined && { description }),
      schema: schemas.refer(schema, 'input'),
    };
  });
}

function answerOf(
  { description, schema, contentType = 'application/json' }: Answer,
  schemas: SchemaCollection,
): object {
  if (!schema) return { description };
  return { description, content: { [contentType]: { schema: schemas.refer(schema, 'output') } } };
}
