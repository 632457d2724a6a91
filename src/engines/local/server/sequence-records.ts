import type { Datum, ProvenanceRun } from '../../../core/datum';
import { DomainError } from '../../../core/errors';
import { SAMPLED_INPUT } from '../compute/losses';

/** From the sampling, and again from each use. */
const LIFETIME_MS = 86_400_000;
/** Four bytes each; beyond, the oldest sequences go. */
const MOST_TOKENS = 16_777_216;

interface SequenceRecord {
  readonly sessionId: string;
  readonly promptLength: number;
  readonly tokens: Int32Array;
  lastUse: number;
}

/**
 * Sequences that were sampled with `record_stability_info`, which `stable_reinforce` needs: what a datum says of where
 * its tokens come from is compared with them.
 *
 * They belong to the session that sampled them and end with it, a day after they were last used, or with the process.
 */
export class SequenceRecords {
  private readonly records = new Map<string, SequenceRecord>();
  private tokenCount = 0;

  constructor(private readonly now: () => number) {}

  add(sequenceId: string, sequence: Omit<SequenceRecord, 'lastUse'>): void {
    this.remove(sequenceId);
    this.records.set(sequenceId, { ...sequence, lastUse: this.now() });
    this.tokenCount += sequence.tokens.length;
    for (const oldest of this.records.keys()) {
      if (this.tokenCount <= MOST_TOKENS) return;
      this.remove(oldest);
    }
  }

  endSession(sessionId: string): void {
    for (const [id, record] of this.records) if (record.sessionId === sessionId) this.remove(id);
  }

  dropExpired(): void {
    const oldest = this.now() - LIFETIME_MS;
    for (const [id, record] of this.records) if (record.lastUse < oldest) this.remove(id);
  }

  /**
   * The data with an input more, which says of each target whether it is a sampled token.
   *
   * Throws `request-failed` (category user) for a datum without provenance, with runs that do not tile it or lie outside
   * their sequence, with a sequence that is not recorded in this session, or whose advantages lie on tokens that were
   * not sampled, or not sampled there.
   */
  withSampledTargets(data: readonly Datum[], sessionId: string): Datum[] {
    return data.map((datum, index) => {
      const sampled = this.sampledTargets(datum, { sessionId, where: `Datum ${index}` });
      return { ...datum, lossInputs: { ...datum.lossInputs, [SAMPLED_INPUT]: sampled } };
    });
  }

  private sampledTargets(datum: Datum, place: Place): Float32Array {
    const { provenance, tokens, targetTokens, lossInputs } = datum;
    const { where } = place;
    if (!provenance) {
      throw refused(
        `${where} has no provenance, which stable_reinforce needs: Datum.with_provenance says where its tokens were sampled, and only protobuf carries it.`,
      );
    }
    for (const run of [...provenance.tokens, ...provenance.targets]) this.require(run, place);
    requireTiling(provenance.tokens, { length: tokens.length, what: `${where}: model_input` });
    requireTiling(provenance.targets, { length: targetTokens.length, what: `${where}: target_tokens` });
    const sampled = new Float32Array(targetTokens.length);
    let start = 0;
    for (const run of provenance.targets) {
      if (run.from === 'sampled') {
        sampled.fill(1, start, start + run.length);
        const drawn = this.require(run, place).tokens.subarray(run.offset, run.offset + run.length);
        requireDrawn(datum, { run, start, drawn, where });
      }
      start += run.length;
    }
    const stray = (lossInputs['advantages'] ?? []).findIndex(
      (advantage, index) => advantage !== 0 && sampled[index] === 0,
    );
    if (stray >= 0)
      throw refused(
        `${where}: target ${stray} has an advantage, but was not sampled. Only sampled tokens may.`,
      );
    return sampled;
  }

  private require(run: ProvenanceRun, { sessionId, where }: Place): SequenceRecord {
    const name = `"${run.sequenceId.slice(0, 200)}"`;
    const record = this.records.get(run.sequenceId);
    if (record?.sessionId !== sessionId) {
      throw refused(
        `${where}: sequence ${name} is not recorded in this session. Sample in the session that trains, with record_stability_info, at most a day before.`,
      );
    }
    const length = run.from === 'prompt' ? record.promptLength : record.tokens.length;
    if (run.offset + run.length > length) {
      const what = run.from === 'prompt' ? `the prompt of sequence ${name}` : `sequence ${name}`;
      throw refused(
        `${where}: provenance names tokens ${run.offset} to ${run.offset + run.length} of ${what}, which has ${length}.`,
      );
    }
    record.lastUse = this.now();
    return record;
  }

  private remove(sequenceId: string): void {
    this.tokenCount -= this.records.get(sequenceId)?.tokens.length ?? 0;
    this.records.delete(sequenceId);
  }
}

interface Place {
  readonly sessionId: string;
  readonly where: string;
}

function requireTiling(
  runs: readonly ProvenanceRun[],
  { length, what }: { readonly length: number; readonly what: string },
): void {
  const total = runs.reduce((sum, run) => sum + run.length, 0);
  if (total !== length) throw refused(`${what} has ${length} tokens, but its provenance covers ${total}.`);
}

/** A target that is trained on is the token that was drawn: the log-probability sent with it is of no other. */
function requireDrawn(
  { targetTokens, lossInputs }: Datum,
  place: {
    readonly run: ProvenanceRun;
    readonly start: number;
    readonly drawn: Int32Array;
    readonly where: string;
  },
): void {
  const { run, start, drawn, where } = place;
  const advantages = lossInputs['advantages'];
  const wrong = drawn.findIndex(
    (token, at) => token !== targetTokens[start + at] && advantages?.[start + at] !== 0,
  );
  if (wrong < 0) return;
  throw refused(
    `${where}: target ${start + wrong} is token ${targetTokens[start + wrong]}, but sequence "${run.sequenceId.slice(0, 200)}" drew ${drawn[wrong]} there.`,
  );
}

function refused(message: string): DomainError {
  return new DomainError('request-failed', message, { category: 'user' });
}
