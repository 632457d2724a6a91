import type { FastifyInstance } from 'fastify';
import { PageQuery, parseBody } from '../bodies';
import type { EngineService } from '../engine-service';
import { ProtocolError } from '../protocol-error';
import type { RunDescription } from '../run-descriptions';
import { describeRuns } from '../run-descriptions';

export function addTrainingRunRoutes(app: FastifyInstance, { models, context }: EngineService): void {
  const list = (): RunDescription[] => describeRuns(models.list(), context.checkpoints.list());
  app.get('/training_runs', ({ query }) => {
    const { limit, offset } = parseBody(PageQuery, query);
    const runs = list();
    return {
      training_runs: runs.slice(offset, offset + limit),
      cursor: { offset, limit, total_count: runs.length },
    };
  });
  app.get<{ Params: { run: string } }>('/training_runs/:run', ({ params }) => {
    const run = list().find(({ training_run_id: id }) => id === params.run);
    if (!run) throw new ProtocolError(404, `Training run "${params.run.slice(0, 200)}" not found.`);
    return run;
  });
}
