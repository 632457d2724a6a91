import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { SampledSequence, Sampler, SampleRequest, SampleResult } from '../../core/sampling';
import { digestOf } from '../../evaluation/digest';
import type { Judgement } from '../../evaluation/judges/judgements';
import { KeptJudgements } from '../../evaluation/judges/judgements';
import type { SharedJudgements } from '../../evaluation/judges/shared-judgements';
import { namesIn } from '../../stores/folder-names';
import { createWholeFile, readJson } from '../../stores/whole-file';
import type { GroupPlace } from './rollout-rows';

export interface DraftPlaces {
  /** Holds `rollouts`. */
  readonly runFolder: string;
  readonly place: GroupPlace;
  /** Judgements of all runs. */
  readonly shared: SharedJudgements<Judgement>;
}

const SAMPLE = 'sample-';
const JUDGEMENT = 'judgement-';

/**
 * What a judged group has paid for, kept as it comes, so that a worker that dies while a judge thinks loses none of it:
 *
 *     rollouts/<step>/<group>.paid/sample-<key>.json        a completion
 *     rollouts/<step>/<group>.paid/judgement-<key>.json     what a judge said to one request
 *     rollouts/<step>/<group>.judgements.jsonl              all of these, written before the group's own file
 *
 * Files appear whole. An attempt that was given up and is not dead may read and write the same ones.
 */
export class GroupDrafts extends KeptJudgements {
  private readonly base: string;
  private readonly folder: string;

  constructor({ runFolder, place: { step, group }, shared }: DraftPlaces) {
    super(shared);
    this.base = join(runFolder, 'rollouts', String(step), String(group));
    this.folder = `${this.base}.paid`;
  }

  /** Draws each completion of the group once, whoever asks for it. */
  samplerOver(sampler: Sampler, policyVersion: number): Sampler {
    return {
      sample: async (request, options) => {
        const path = this.pathOf(SAMPLE, digestOf([policyVersion, request.prompt, request.params]));
        const known = await readJson<SampledSequence>(path);
        if (known) return { sequences: [known], promptLogprobs: null };
        const result = await sampler.sample(request, options);
        await keepOnly(path, request, result);
        return result;
      },
    };
  }

  async find(key: string): Promise<Judgement | undefined> {
    return (await readJson<Judgement>(this.pathOf(JUDGEMENT, key))) ?? undefined;
  }

  mayAsk(): Promise<void> {
    return Promise.resolve();
  }

  /** Called when the group is whole, before its file is written. */
  async settle(): Promise<void> {
    const rows: Judgement[] = [];
    for (const name of (await namesIn(this.folder)).filter((each) => each.startsWith(JUDGEMENT)).sort()) {
      const row = await readJson<Judgement>(join(this.folder, name));
      if (row) rows.push(row);
    }
    const text = rows.map((row) => `${JSON.stringify(row)}\n`).join('');
    await createWholeFile(`${this.base}.judgements.jsonl`, text);
  }

  /** The group's file is there: it holds what counts. */
  async discard(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }

  protected async write(row: Judgement): Promise<void> {
    await createWholeFile(this.pathOf(JUDGEMENT, row.key), `${JSON.stringify(row)}\n`);
  }

  private pathOf(kind: string, key: string): string {
    return join(this.folder, `${kind}${key}.json`);
  }
}

/** Rollouts draw one completion a request; other requests are not kept. */
async function keepOnly(
  path: string,
  { numSamples, promptLogprobs }: SampleRequest,
  { sequences: [sequence] }: SampleResult,
): Promise<void> {
  if (numSamples !== 1 || promptLogprobs || !sequence) return;
  const { tokens, logprobs, stopReason } = sequence;
  const plain: SampledSequence = {
    tokens: Array.from(tokens),
    logprobs: logprobs === null ? null : Array.from(logprobs),
    stopReason,
  };
  await createWholeFile(path, `${JSON.stringify(plain)}\n`);
}
