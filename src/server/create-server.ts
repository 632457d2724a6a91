import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { createApp } from './http/app';
import type { GuardOptions } from './http/guard';
import { describeRoutes } from './http/openapi';
import type { RouteSpec } from './http/route';
import { Routes } from './http/route';
import { addChatRoute } from './gateway/chat-route';
import { addCompletionRoute } from './gateway/completion-route';
import { addChangeRoutes } from './api/change-routes';
import { addEvalRoutes } from './api/eval-routes';
import { RunAccess } from './api/run-access';
import type { RunAccessOptions } from './api/run-access';
import { addRunRoutes } from './api/run-routes';
import { addEventsRoute } from './feed/events-route';
import { Gateway } from './gateway/gateway';
import type { GatewayOptions } from './gateway/gateway';
import { addModelRoutes } from './gateway/models-route';

export interface ServerOptions {
  readonly guard: GuardOptions;
  readonly runs: RunAccessOptions;
  readonly gateway: Omit<GatewayOptions, 'logger'>;
  readonly logger: Logger;
}

export interface EverstepServer {
  readonly app: FastifyInstance;
  /** What there is, as the OpenAPI document has it. */
  readonly specs: readonly RouteSpec[];
  close(): Promise<void>;
}

/** The HTTP surface: the gateway, reads and changes of runs, their live feed, and a description of it all. */
export function createServer(options: ServerOptions): EverstepServer {
  const { logger } = options;
  const app = createApp(options.guard, logger);
  const routes = new Routes(app);
  const gateway = new Gateway({ ...options.gateway, logger });
  addModelRoutes(routes, gateway);
  addChatRoute(routes, gateway);
  addCompletionRoute(routes, gateway);
  const access = new RunAccess(options.runs);
  const stopping = new AbortController();
  addRunRoutes(routes, access);
  addChangeRoutes(routes, access);
  addEvalRoutes(routes, access);
  addEventsRoute(routes, { access, logger, stopping: stopping.signal });
  app.get('/healthz', () => ({ status: 'ok' }));
  const description = describeRoutes(routes.specs, { asksForToken: options.guard.token !== null });
  app.get('/openapi.json', () => description);
  return {
    app,
    specs: routes.specs,
    async close() {
      stopping.abort();
      await app.close();
      await gateway.close();
      await access.close();
    },
  };
}
