import type { FastifyInstance } from 'fastify';
import { EVERSTEP_VERSION } from '../../../../core/version';
import type { EngineService } from '../engine-service';

/** Flags that official clients ask for; whatever is not named has a default on their side. */
const CLIENT_CONFIG = {
  pjwt_auth_enabled: false,
  credential_default_source: 'api_key',
  parallel_fwdbwd_chunks: true,
  proto_compress_fwdbwd: false,
  fwdbwd_max_chunk_len: 1024,
  fwdbwd_max_chunk_bytes_count: 5_000_000,
};
const DYNAMIC_CONFIG = {
  refresh_interval_sec: 300,
  sample_cancel_enabled: true,
  sample_cancel_max_batch_size: 64,
};

/** What a client asks before it trains. */
export function addBootstrapRoutes(app: FastifyInstance, { context }: EngineService): void {
  const { runtime, profile } = context;
  // By this a client of ours knows what it may rely on; others read over it.
  const introduction = {
    version: EVERSTEP_VERSION,
    deduplicates: profile.deduplicate,
    deterministic: profile.deterministic,
    counts_applied_steps: true,
  };
  app.post('/client/config', () => ({ ...CLIENT_CONFIG, everstep_engine: introduction }));
  app.post('/client/dynamic_config', () => DYNAMIC_CONFIG);
  app.post('/telemetry', () => ({ status: 'accepted' }));
  app.get('/healthz', () => ({ status: 'ok' }));
  app.get('/get_server_capabilities', () => ({
    supported_models: runtime.baseModels.map((base) => ({
      model_name: base.name,
      max_context_length: base.contextLength,
      trainable: true,
      sampleable: true,
    })),
  }));
}
