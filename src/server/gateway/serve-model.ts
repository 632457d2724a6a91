import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import type { ModelServer, ServedModel } from '../../evaluation/inspect/run/inspect-access';
import { createApp } from '../http/app';
import { RequestError } from '../http/request-error';
import { Routes } from '../http/route';
import { addChatRoute } from './chat-route';
import { addCompletionRoute } from './completion-route';
import type { GatewayModel } from './opened-models';

const LOOPBACK = '127.0.0.1';
const TOKEN_BYTES = 32;

/** The gateway for one model and those that are told its token: on the loopback interface, on whatever port is free. */
export async function serveModel(served: ServedModel, logger: Logger): Promise<ModelServer> {
  const token = randomBytes(TOKEN_BYTES).toString('hex');
  const app = createApp({ token, hosts: [] }, logger);
  const model = gatewayModel(served);
  const routes = new Routes(app);
  const gateway = {
    logger,
    answer<Result>(name: string, _signal: AbortSignal, work: (model: GatewayModel) => Promise<Result>) {
      if (name !== served.name) throw unknownModel(name, served.name);
      return work(model);
    },
  };
  addChatRoute(routes, gateway);
  addCompletionRoute(routes, gateway);
  const url = await app.listen({ host: LOOPBACK, port: 0 });
  return { url: `${url}/v1`, token, close: () => app.close() };
}

function gatewayModel({ name, sampler, tokenizer, renderer, contextLength }: ServedModel): GatewayModel {
  return {
    ...{ label: name, sampler, tokenizer, contextLength },
    renderer: () => renderer,
    endTexts: () =>
      renderer
        .stopSequences()
        .map((stop: string | number) => (typeof stop === 'string' ? stop : tokenizer.decode([stop]))),
    // What the service does with texts among special tokens is not known here.
    stopsAtSpecialTexts: false,
    // Whoever owns the sampler watches what it waits for.
    unpaid: new AbortController().signal,
  };
}

function unknownModel(name: string, known: string): RequestError {
  return new RequestError(404, {
    message: `There is no model "${name.slice(0, 200)}" here, only ${known}.`,
    param: 'model',
    code: 'model_not_found',
  });
}
