import type { FuzzTarget } from '../target';
import { age } from './age';
import { answers } from './answers';
import { checkpointMeta } from './checkpoint-meta';
import { configs } from './configs';
import { datasets, parquet } from './datasets';
import { engineBodies } from './engine-bodies';
import { engineProtobuf } from './engine-protobuf';
import { graders } from './graders';
import { inspectLogs } from './inspect-logs';
import { jinja } from './jinja';
import { journals } from './journals';
import { queries } from './queries';
import { results } from './results';
import { safetensors } from './safetensors';
import { serveBodies } from './serve-bodies';
import { toolCalls } from './tool-calls';
import { weightsArchive } from './weights-archive';

/** Every parser of what others write. */
export const TARGETS: readonly FuzzTarget[] = [
  ...[serveBodies, engineBodies, engineProtobuf, checkpointMeta, safetensors, weightsArchive, age],
  ...[journals, results, configs, datasets, parquet, inspectLogs],
  ...[graders, answers, toolCalls, jinja, queries],
];
