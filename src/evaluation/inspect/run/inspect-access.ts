import type { InspectTask } from '../../../core/benchmark-run';
import type { Sampler } from '../../../core/sampling';
import type { Tokenizer } from '../../../core/tokenizer';
import type { Renderer } from '../../../renderers/renderer';

/** Weights that others may ask in OpenAI's language. */
export interface ServedModel {
  /** What clients call it. */
  readonly name: string;
  readonly sampler: Sampler;
  readonly tokenizer: Tokenizer;
  readonly renderer: Renderer;
  /** null where nobody knows. */
  readonly contextLength: number | null;
}

/** One model behind an OpenAI-compatible API on the loopback interface. */
export interface ModelServer {
  /** Ends in `/v1`. */
  readonly url: string;
  /** Asked of every request, and worth nothing when the server is closed. */
  readonly token: string;
  close(): Promise<void>;
}

/** How a worker runs tasks of Inspect AI. */
export interface InspectAccess {
  readonly serveModel: (model: ServedModel) => Promise<ModelServer>;
  /** Holds what `everstep inspect setup` made. */
  readonly cacheFolder: string;
  /** Refuses a task whose file, or whose models' services, this worker was not told of. */
  readonly requirePermission: (task: InspectTask) => void;
  /** What Inspect's process gets of the environment of this one without being told: nothing in it is secret. */
  readonly variables: Readonly<Record<string, string>>;
  /** Those of the environment that have one of these names: whoever set Inspect up lets tasks have them. */
  readonly readVariables: (names: readonly string[]) => Readonly<Record<string, string>>;
}
