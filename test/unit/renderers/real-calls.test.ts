import type { Message } from '../../../src/core/conversation';
import { conversationWithTools } from '../../../src/renderers/conversation-with-tools';
import { findRenderer } from '../../../src/renderers/find-renderer';
import { loadTokenizer } from '../../../src/renderers/tokenizers/load-tokenizer';
import { realModel } from './real-models';

/** Calls that the models' own templates write, where their files are at hand. */

const TOOLS = [
  {
    name: 'f',
    description: 'd',
    parameters: {
      type: 'object',
      properties: { year: { type: 'string' }, size: { type: ['integer', 'null'] }, all: { type: 'array' } },
    },
  },
  { name: 'g', description: 'd', parameters: { type: 'object', properties: {} } },
];
const CALLS = [
  { name: 'f', arguments: '{"year": "2024 </think>", "size": null, "all": [1, true, "é"]}' },
  { name: 'g', arguments: '{}' },
];
const WHY = { type: 'thinking' as const, thinking: 'why' };
const WORDS = { type: 'text' as const, text: 'words' };

for (const name of ['MiniMax-M2', 'GLM-4.7-Flash']) {
  const model = realModel(name);
  const run = model?.hasTemplate === true ? test : test.skip;
  run.each([[[]], [[WORDS]], [[WHY]], [[WHY, WORDS]]])(
    `${name} reads back %j and the calls behind it`,
    async (content) => {
      const tokenizer = await loadTokenizer({ folder: model?.folder ?? '' });
      const renderer = findRenderer('chat_template', tokenizer);
      const messages: Message[] = [
        { role: 'user', content: 'q' },
        { role: 'assistant', content, toolCalls: CALLS },
      ];
      const { tokens, weights } = renderer.buildSupervisedExample(
        conversationWithTools(renderer, messages, TOOLS),
        'lastAssistantMessage',
      );

      const reply = renderer.parseCompletion(
        tokens.filter((_, index) => weights[index] === 1),
        TOOLS,
      );

      expect(reply).toEqual({
        message: { role: 'assistant', content, toolCalls: CALLS },
        termination: 'stop_sequence',
      });
    },
  );
}
