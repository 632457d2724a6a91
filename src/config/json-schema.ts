import { z } from 'zod';
import type { TrainingKind } from './training-config';
import { TRAINING_CONFIGS } from './training-config';

const TITLES = {
  sft: 'Everstep supervised fine-tuning config',
  rl: 'Everstep reinforcement learning config',
};

/** Published as `schemas/<kind>.json`: editors complete and check a config with it. */
export function trainingConfigSchema(kind: TrainingKind = 'sft'): Record<string, unknown> {
  const schema = z.toJSONSchema(TRAINING_CONFIGS[kind], {
    io: 'input',
    override: ({ zodSchema, jsonSchema }) => {
      if (jsonSchema['oneOrMany'] === true) allowOne(jsonSchema);
      // A bare word stands for the whole object (see the preprocess steps of the schemas).
      if (zodSchema._zod.def.type !== 'pipe' || jsonSchema.oneOf === undefined) return;
      jsonSchema.anyOf = [{ type: 'string' }, { oneOf: jsonSchema.oneOf }];
      Reflect.deleteProperty(jsonSchema, 'oneOf');
    },
  });
  return {
    $schema: schema.$schema,
    title: TITLES[kind],
    ...schema,
    properties: { $schema: { type: 'string' }, ...schema.properties },
  };
}

/** A list whose only member may stand without it, or be told by its name alone. */
function allowOne(schema: z.core.JSONSchema.BaseSchema): void {
  const { items, minItems, maxItems } = schema;
  if (typeof items !== 'object' || Array.isArray(items)) return;
  schema.anyOf = [
    { type: 'string' },
    items,
    {
      type: 'array',
      items,
      ...(minItems !== undefined && { minItems }),
      ...(maxItems !== undefined && { maxItems }),
    },
  ];
  for (const key of ['type', 'items', 'minItems', 'maxItems', 'oneOrMany'])
    Reflect.deleteProperty(schema, key);
}
