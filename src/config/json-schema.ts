import { z } from 'zod';
import { SupervisedConfig } from './supervised-config';

/** Published as `schemas/sft.json`: editors complete and check a config with it. */
export function trainingConfigSchema(): Record<string, unknown> {
  const schema = z.toJSONSchema(SupervisedConfig, {
    io: 'input',
    override: ({ zodSchema, jsonSchema }) => {
      // A bare word stands for the whole object (see the preprocess steps of the schemas).
      if (zodSchema._zod.def.type !== 'pipe' || jsonSchema.oneOf === undefined) return;
      jsonSchema.anyOf = [{ type: 'string' }, { oneOf: jsonSchema.oneOf }];
      Reflect.deleteProperty(jsonSchema, 'oneOf');
    },
  });
  return {
    $schema: schema.$schema,
    title: 'Everstep supervised fine-tuning config',
    ...schema,
    properties: { $schema: { type: 'string' }, ...schema.properties },
  };
}
