import type { JsonObject } from './codec/json-values';
import { arrayFrom, objectFrom, stringFrom } from './codec/json-values';
import type { Subject } from './failures';
import { failureOf, isRouteMissing } from './failures';
import type { SupportedModel } from './profile';
import type { ProtocolCall } from './protocol-call';
import { jsonOf, SDK_VERSION } from './protocol-call';
import type { HttpReply } from './transport';

type Send = (call: ProtocolCall) => Promise<HttpReply>;

export const SERVER: Subject = { what: 'The server', missing: 'engine-refused' };

/** The server's flags. Servers without this route have none to tell. */
export async function loadClientConfig(send: Send): Promise<JsonObject> {
  const reply = await send({ route: 'client/config', subject: SERVER, body: { sdk_version: SDK_VERSION } });
  if (isRouteMissing(reply)) return {};
  if (reply.status !== 200) throw failureOf(reply, SERVER);
  return jsonOf(reply, SERVER);
}

export async function loadSupportedModels(
  requests: { readonly send: Send },
  signal: AbortSignal | undefined,
): Promise<readonly SupportedModel[]> {
  const reply = await requests.send({
    route: 'get_server_capabilities',
    subject: SERVER,
    method: 'GET',
    signal,
  });
  if (isRouteMissing(reply)) return [];
  if (reply.status !== 200) throw failureOf(reply, SERVER);
  return arrayFrom(jsonOf(reply, SERVER)['supported_models'], 'supported_models').map(supportedModel);
}

function supportedModel(value: unknown): SupportedModel {
  const model = objectFrom(value, 'supported_models');
  const length = model['max_context_length'];
  return {
    name: stringFrom(model['model_name'], 'model_name'),
    maxContextLength: typeof length === 'number' ? length : null,
    isTrainable: model['trainable'] !== false,
    isSampleable: model['sampleable'] !== false,
  };
}
