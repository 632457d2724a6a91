import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { JudgeAccess } from '../../../../src/evaluation/judges/judge-access';
import { createPermitPool } from '../../../../src/evaluation/runner/permits';
import { createModelAccess } from '../../../../src/training/model-access';
import { newFolder } from '../runner/fake-model';
import { judgeCalled } from './fake-judges';

/** A judge who is asked at a server that listens on a port. */
export function judgesAt(server: Server, model = 'judge') {
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/v1`;
  return [judgeCalled(model, { model: { type: 'endpoint', url, api: 'chat', model } })];
}

/** The way to judges at endpoints, and to no others. */
export function endpointAccess(): JudgeAccess {
  return {
    models: createModelAccess({
      engines: {
        connect: () => Promise.reject(new Error('no engine here')),
        urlOf: () => 'http://127.0.0.1:1',
      },
      tokenizerOf: () => Promise.reject(new Error('no tokenizer here')),
      sharedFolder: newFolder(),
    }),
    permitsOf: createPermitPool(),
    cacheFolder: null,
    check: () => Promise.resolve(),
    findCheckpoint: () => Promise.reject(new Error('no checkpoints here')),
  };
}
