import type { JsonObject } from './codec/json-values';
import { isObject } from './codec/json-values';

/** What a server leaves out without a word, so that it is refused here. */
type Lack = 'gradient-clipping' | 'fresh-optimizer';

/** What differs between servers of the protocol. Plain JSON: a run freezes it with its first segment. */
export interface ServerProfile {
  readonly server: 'everstep' | 'tinker' | 'skyrl';
  readonly codec: 'json' | 'protobuf';
  /** Whether a resent training request answers with the promise of the first, instead of training twice. */
  readonly deduplicates: boolean;
  /** Whether equal requests give bit-equal weights and samples. */
  readonly deterministic: boolean;
  /** Over tokens and datums (`sum`), or per sequence and then averaged (`mean`). */
  readonly lossReduction: 'sum' | 'mean';
  /** `tinker://<run>/sampler_weights/<name>`, or `tinker://<run>/<name>`. */
  readonly samplerPathForm: 'full' | 'short';
  /** Whether a checkpoint becomes a model in one request, or is loaded into a fresh one. */
  readonly restore: 'create-via-load' | 'load';
  readonly supportsTtl: boolean;
  readonly readsWeights: boolean;
  /** Whether it can be asked how many optimizer steps a model was given, also one that is gone. */
  readonly countsAppliedSteps: boolean;
  /** Whether sampling from saved weights leaves the model they came from alone, and works without it. */
  readonly detachesSnapshots: boolean;
  /** Whether a new model begins without the gradients that one before it left behind. */
  readonly clearsGradients: boolean;
  readonly lacks: readonly Lack[];
  /** In tokens; null where the server does not say. */
  readonly maxSequenceLength: number | null;
  readonly maxChunkDatums: number;
  readonly maxChunkBytes: number;
}

const CHUNK_LIMITS = { maxChunkDatums: 1024, maxChunkBytes: 5_000_000 };

export const KNOWN_PROFILES = {
  everstep: {
    server: 'everstep',
    codec: 'protobuf',
    deduplicates: true,
    deterministic: true,
    lossReduction: 'sum',
    samplerPathForm: 'full',
    restore: 'create-via-load',
    supportsTtl: true,
    readsWeights: true,
    countsAppliedSteps: true,
    detachesSnapshots: true,
    clearsGradients: true,
    lacks: [],
    maxSequenceLength: null,
    ...CHUNK_LIMITS,
  },
  tinker: {
    server: 'tinker',
    codec: 'protobuf',
    deduplicates: true,
    deterministic: false,
    lossReduction: 'sum',
    samplerPathForm: 'full',
    restore: 'create-via-load',
    supportsTtl: true,
    readsWeights: true,
    countsAppliedSteps: false,
    detachesSnapshots: true,
    clearsGradients: true,
    lacks: [],
    maxSequenceLength: null,
    ...CHUNK_LIMITS,
  },
  // Released versions neither read protobuf nor recognise a resent request, and nothing on the wire tells
  // them from newer ones, so the profile is the one that is right for both.
  skyrl: {
    server: 'skyrl',
    codec: 'json',
    deduplicates: false,
    deterministic: false,
    lossReduction: 'mean',
    samplerPathForm: 'short',
    restore: 'load',
    supportsTtl: false,
    readsWeights: true,
    countsAppliedSteps: false,
    detachesSnapshots: false,
    clearsGradients: false,
    lacks: ['gradient-clipping', 'fresh-optimizer'],
    maxSequenceLength: null,
    ...CHUNK_LIMITS,
  },
} as const satisfies Record<string, ServerProfile>;

export interface SupportedModel {
  readonly name: string;
  /** In tokens; null where the server does not say. */
  readonly maxContextLength: number | null;
  readonly isTrainable: boolean;
  readonly isSampleable: boolean;
}

export interface ProfileEvidence {
  readonly hostName: string;
  /** The answer of `client/config`. */
  readonly config: JsonObject;
  readonly models: readonly SupportedModel[];
  readonly baseModel?: string | undefined;
}

/** Which profile a server has, from how it introduces itself. */
export function profileFrom(evidence: ProfileEvidence): ServerProfile {
  const { config } = evidence;
  return {
    ...identify(evidence),
    maxSequenceLength: contextLength(evidence),
    maxChunkDatums: positiveOr(config['fwdbwd_max_chunk_len'], CHUNK_LIMITS.maxChunkDatums),
    maxChunkBytes: positiveOr(config['fwdbwd_max_chunk_bytes_count'], CHUNK_LIMITS.maxChunkBytes),
  };
}

function identify({ hostName, config }: ProfileEvidence): ServerProfile {
  const everstep = config['everstep_engine'];
  if (isObject(everstep)) {
    return {
      ...KNOWN_PROFILES.everstep,
      deduplicates: everstep['deduplicates'] === true,
      deterministic: everstep['deterministic'] === true,
      countsAppliedSteps: everstep['counts_applied_steps'] === true,
    };
  }
  // Behind a gateway its host's name is another one, but nobody else exchanges keys for tokens.
  const isOfficial =
    /(^|\.)thinkingmachines\.(dev|ai)$/.test(hostName) || config['pjwt_auth_enabled'] === true;
  return isOfficial ? KNOWN_PROFILES.tinker : KNOWN_PROFILES.skyrl;
}

/** Of the model asked about; without one, what no model exceeds. */
function contextLength({ models, baseModel }: ProfileEvidence): number | null {
  const candidates = models.filter((model) => baseModel === undefined || model.name === baseModel);
  return candidates.reduce<number | null>((longest, { maxContextLength }, index) => {
    if (maxContextLength === null || (index > 0 && longest === null)) return null;
    return Math.max(longest ?? 0, maxContextLength);
  }, null);
}

function positiveOr(value: unknown, fallback: number): number {
  return typeof value === 'number' && value > 0 ? value : fallback;
}
