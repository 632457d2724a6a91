import type { JsonObject } from './codec/json-values';
import type { Connection } from './connection';
import type { Subject } from './failures';
import { collectJson, submit } from './futures';
import type { CallOptions } from './protocol-call';

interface SlotCalls {
  create(): Promise<string>;
  unload(modelId: string): Promise<void>;
}

/**
 * Clears the place that the next model will have.
 *
 * SkyRL gives a new model the lowest adapter slot that is free, with the gradients that the model before it left there if
 * it ended between a pass and its optimizer step; they would count in the new model's first step. Only an optimizer step
 * clears them, and it would touch the new model's optimizer, so one is made by a model that is thrown away.
 */
export async function cleanSlot(
  connection: Connection,
  calls: SlotCalls,
  { signal }: CallOptions,
): Promise<void> {
  const { clearsGradients } = await connection.profile({ signal });
  if (clearsGradients) return;
  const modelId = await calls.create();
  try {
    const subject: Subject = { what: `optim_step (clearing ${modelId})`, missing: 'session-lost' };
    const body: JsonObject = {
      model_id: modelId,
      seq_id: 1,
      adam_params: {
        learning_rate: 0,
        beta1: 0.9,
        beta2: 0.95,
        eps: 1e-8,
        weight_decay: 0,
        grad_clip_norm: 0,
      },
      type: 'optim_step',
    };
    const ref = await submit(connection, { route: 'optim_step', subject, body, isResendable: false, signal });
    await collectJson(connection, ref, { type: 'OptimStep', subject, signal });
  } finally {
    await calls.unload(modelId);
  }
}
