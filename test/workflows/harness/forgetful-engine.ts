import { EngineRelay } from './engine-relay';

/** Passes on what is asked of an engine, and answers for it where weights to sample from are asked for that it is to have lost. */
export const ForgetfulEngine = {
  start(engineUrl: string, hasLost: (samplerPath: string) => boolean): Promise<EngineRelay> {
    return EngineRelay.start(engineUrl, (route, body) => {
      if (route !== 'create_sampling_session') return null;
      const { model_path: path } = JSON.parse(body.toString()) as { readonly model_path?: string | null };
      if (!path || !hasLost(path)) return null;
      return Response.json({ detail: `Checkpoint not found: ${path}` }, { status: 404 });
    });
  },
};
