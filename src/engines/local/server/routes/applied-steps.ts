import type { FastifyInstance } from 'fastify';
import { AppliedStepsQuery, parseBody } from '../bodies';
import type { EngineService } from '../engine-service';

/**
 * `GET /everstep/applied_steps?model_id=M` → `{"model_id": M, "applied_steps": n}`: optimizer steps applied to a model of
 * this process or an earlier one. Not part of the protocol. A run asks it after unloading a model, to count exactly
 * what is trained again.
 */
export function addAppliedStepsRoute(app: FastifyInstance, { context }: EngineService): void {
  app.get('/everstep/applied_steps', ({ query }) => {
    const { model_id: modelId } = parseBody(AppliedStepsQuery, query);
    return { model_id: modelId, applied_steps: context.appliedSteps.countOf(modelId) };
  });
}
