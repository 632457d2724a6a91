/** The recipes of tinker-cookbook 0.6.1 that run unmodified, each at its own defaults but for its sizes. */
export interface Recipe {
  readonly name: string;
  /** Below `tinker_cookbook.recipes`. */
  readonly module: string;
  /** Of its command line, besides where it logs. */
  readonly args: readonly string[];
  /** By folder of logs: how many rows of its metrics.jsonl hold this metric. */
  readonly logs: Readonly<Record<string, Logged>>;
  /** It has no `log_path`: its logs lie where TINKER_COOKBOOK_RUNS_DIR and it itself decide. */
  readonly choosesFolder?: boolean;
}

export interface Logged {
  readonly metric: string;
  readonly rows: number;
}

const STEPS = 2;
const NLL = 'train_mean_nll';
const REWARD = 'env/all/reward/total';
const KL = 'teacher_kl';

export const RECIPES: readonly Recipe[] = [
  // sl_basic and rl_basic take no batch size from the command line: their data are two batches and half of one.
  recipe('sl_basic', 'sl_basic', NLL, []),
  recipe('sl_loop', 'sl_loop', NLL, ['batch_size=16']),
  recipe('chat_sl', 'chat_sl.train', NLL, ['dataset=no_robots', 'batch_size=16']),
  recipe('prompt_distillation', 'prompt_distillation.train', NLL, [
    'file_path=prompts/languages.jsonl',
    'batch_size=16',
    'max_length=512',
  ]),
  recipe('rl_basic', 'rl_basic', REWARD, ['num_epochs=2', 'max_tokens=16']),
  recipe('rl_loop', 'rl_loop', 'reward/total', ['batch_size=2', 'group_size=4', 'max_tokens=16']),
  ...['stable_reinforce', 'importance_sampling', 'ppo', 'cispo'].map((loss) =>
    mathRl(`math_rl arithmetic, ${loss}`, [`loss_fn=${loss}`]),
  ),
  mathRl('math_rl arithmetic, async', ['loss_fn=importance_sampling', 'max_steps_off_policy=1']),
  mathRl('math_rl arithmetic, stream minibatch', [
    'loss_fn=importance_sampling',
    'stream_minibatch_config.groups_per_batch=4',
    'stream_minibatch_config.num_minibatches=2',
  ]),
  recipe('preference dpo', 'preference.dpo.train', 'dpo_loss', ['batch_size=8']),
  recipe('preference shorter', 'preference.shorter.train', REWARD, [
    'batch_size=2',
    'group_size=4',
    'max_tokens=8',
  ]),
  {
    name: 'preference rlhf: sft, reward model, rl',
    module: 'preference.rlhf.rlhf_pipeline',
    args: [
      'short_name=tiny',
      'batch_size=4',
      'rl_max_tokens=8',
      'rl_group_size=2',
      'max_length=512',
      `max_steps=${STEPS}`,
    ],
    logs: {
      'rlhf-tiny/sft': { metric: NLL, rows: STEPS },
      'rlhf-tiny/rm': { metric: NLL, rows: STEPS },
      'rlhf-tiny/rl': { metric: REWARD, rows: STEPS },
    },
    choosesFolder: true,
  },
  recipe('distillation on-policy', 'distillation.on_policy_distillation', KL, [
    'groups_per_batch=4',
    'group_size=2',
    'max_tokens=16',
  ]),
  recipe('distillation on-policy, two teachers', 'distillation.on_policy_multi_teacher', KL, [
    'deepmath_groups_per_batch=2',
    'tulu3_groups_per_batch=2',
    'group_size=2',
    'max_tokens=16',
  ]),
  recipe('distillation off-policy', 'distillation.off_policy_reasoning', NLL, [
    'batch_size=8',
    'max_length=512',
    'buffer_size=64',
    'max_prompts=64',
  ]),
  // Its test set is no data set as its own evaluator takes it, whatever the server: it fails at its first evaluation.
  recipe('sdft, SciKnowEval', 'sdft.train', 'sdft/num_datums', [
    'groups_per_batch=4',
    'max_tokens=16',
    'eval_every=0',
  ]),
  recipe('sdft, ToolAlpaca', 'sdft.train', 'sdft/num_datums', [
    'dataset=toolalpaca',
    'groups_per_batch=4',
    'max_tokens=16',
    'eval_every=0',
  ]),
  recipe('multiplayer_rl guess_number', 'multiplayer_rl.guess_number.train', REWARD, [
    'batch_size=2',
    'group_size=2',
    'max_tokens=8',
    'eval_every=0',
  ]),
  recipe('multiplayer_rl twenty_questions', 'multiplayer_rl.twenty_questions.train', REWARD, [
    'batch_size=2',
    'group_size=2',
    'num_epochs=1',
    'max_tokens=8',
    'eval_every=0',
  ]),
  recipe('multiplayer_rl text_arena: tic-tac-toe', 'multiplayer_rl.text_arena.train', REWARD, [
    'batch_size=4',
    'num_train_datapoints=16',
    'num_test_datapoints=4',
    'max_tokens=8',
  ]),
  recipe('rubric', 'rubric.train', REWARD, [
    'train_jsonl_path=rubric/train.jsonl',
    'test_jsonl_path=rubric/test.jsonl',
    'groups_per_batch=2',
    'train_group_size=2',
  ]),
  recipe('rubric, Feedback-Collection', 'rubric.prometheus_experimental', REWARD, [
    'groups_per_batch=2',
    'train_group_size=2',
  ]),
];

function recipe(name: string, module: string, metric: string, args: readonly string[]): Recipe {
  const folder = name.replaceAll(/[^a-zA-Z0-9_]+/g, '-');
  return { name, module, args: [...args, `max_steps=${STEPS}`], logs: { [folder]: { metric, rows: STEPS } } };
}

function mathRl(name: string, args: readonly string[]): Recipe {
  const sizes = ['env=arithmetic', 'groups_per_batch=4', 'group_size=4', 'max_tokens=8'];
  return recipe(name, 'math_rl.train', REWARD, [...sizes, ...args]);
}
