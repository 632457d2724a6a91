import { EnvironmentConfig } from '../../../../src/config/environment-config';
import { NO_PLUGINS } from '../../../../src/evaluation/plugins';
import { buildEnvironments } from '../../../../src/training/environments/build-environments';
import type {
  EnvironmentDataset,
  TrainingStep,
} from '../../../../src/training/environments/environment-dataset';

/** An environment of type `code`, that reads nothing but its own file. */
export async function buildCode(config: object): Promise<EnvironmentDataset> {
  return buildEnvironments(EnvironmentConfig.parse({ type: 'code', testSize: 0, ...config }), {
    plugins: NO_PLUGINS,
    seed: 0,
    readBenchmarkRows: () => Promise.reject(new Error('nothing is read from elsewhere')),
  });
}

/** The reply to the problem whose question has a text in it. */
export async function replyIn(
  dataset: EnvironmentDataset,
  question: string,
  content: string,
): Promise<TrainingStep> {
  const { signal } = new AbortController();
  for (let index = 0; index < dataset.length; index++) {
    const environment = dataset.groupAt(index).make(0);
    const { messages } = await environment.initialObservation();
    if (!JSON.stringify(messages).includes(question)) continue;
    return environment.step(
      { role: 'assistant', content },
      { stopReason: 'stop', isMalformed: false, signal },
    );
  }
  throw new Error(`nothing asks for ${question}`);
}

export const fenced = (code: string): string => `Here:\n\`\`\`python\n${code}\n\`\`\``;
