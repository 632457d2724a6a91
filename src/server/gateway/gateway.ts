import type { Logger } from 'pino';
import { Admission } from './admission';
import type { AdmissionLimits } from './admission';
import { findWeights } from './find-weights';
import type { WeightsRecords } from './find-weights';
import type { EngineAccess, GatewayModel } from './opened-models';
import { OpenedModels } from './opened-models';
import type { RunStore } from '../../stores/run-store';

export type GatewayRecords = WeightsRecords & Pick<RunStore, 'readState'>;

export interface GatewayOptions {
  readonly engine: EngineAccess;
  readonly records: GatewayRecords;
  readonly logger: Logger;
  readonly limits?: AdmissionLimits;
}

/** Evaluation tools open some hundred connections each; the training service takes turns among them. */
const LIMITS: AdmissionLimits = { running: 512, waiting: 2048 };

/** Weights of runs and services, for those who speak OpenAI's language. */
export class Gateway {
  readonly models: OpenedModels;
  readonly records: GatewayRecords;
  readonly logger: Logger;
  private readonly admission: Admission;

  constructor({ engine, records, logger, limits = LIMITS }: GatewayOptions) {
    this.models = new OpenedModels(engine);
    this.records = records;
    this.logger = logger;
    this.admission = new Admission(limits);
  }

  /** Answers one request with the weights it names, when it is its turn. */
  async answer<Result>(
    name: string,
    signal: AbortSignal,
    work: (model: GatewayModel) => Promise<Result>,
  ): Promise<Result> {
    return this.admission.run(signal, async () => {
      const weights = await findWeights(name, this.records);
      return this.models.use(weights, work);
    });
  }

  async close(): Promise<void> {
    await this.models.close();
  }
}
