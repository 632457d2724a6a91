// node examples/tool-use/make-data.js [FOLDER]: writes the data of this example, beside this file or into FOLDER.
// It is the same each time.
const { mkdirSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');

/** Places of the demonstrations are in no document and no question, and no place is in two questions. */
const DEMONSTRATED = 2100;
const DOCUMENTED = 300;

/** Seeded (mulberry32). */
let state = 1;
function random() {
  state = (state + 0x6d2b79f5) | 0;
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
}

const pick = (letters) => letters[Math.floor(random() * letters.length)];
const syllable = () => pick('bdfgklmnprstvz') + pick('aeiou');

function distinctWords(count) {
  const words = new Set();
  while (words.size < count) words.add(syllable() + syllable());
  return [...words];
}

const count = DEMONSTRATED + DOCUMENTED;
const words = distinctWords(2 * count);
const places = words.slice(0, count).map((title, index) => ({ title, river: words[count + index] }));
const [demonstrated, documented] = [places.slice(0, DEMONSTRATED), places.slice(DEMONSTRATED)];

/** Of three places one is asked about alone and two together. */
function questionsAbout(known) {
  const questions = [];
  for (let index = 0; index + 2 < known.length; index += 3) {
    const [one, ...two] = known.slice(index, index + 3);
    questions.push({ places: [one], question: `${one.title}?`, data_source: 'one' });
    const question = two.map(({ title }) => `${title}?`).join(' ');
    questions.push({ places: two, question, data_source: 'two' });
  }
  return questions;
}

const tools = [
  {
    type: 'function',
    function: {
      name: 'search',
      parameters: {
        type: 'object',
        properties: { query_list: { type: 'array', items: { type: 'string' } } },
        required: ['query_list'],
      },
    },
  },
];

/** A call for each place, all in one reply; what the tool answers to each; the answer. */
function demonstrate({ places: asked, question }) {
  const calls = asked.map(({ title }) => ({
    type: 'function',
    function: { name: 'search', arguments: JSON.stringify({ query_list: [title] }) },
  }));
  const found = asked.map(({ title, river }) => ({
    role: 'tool',
    content: `Query: ${title}\nDocument 1: ${title}\nriver ${river}`,
  }));
  const messages = [
    { role: 'user', content: question },
    { role: 'assistant', content: null, tool_calls: calls },
    ...found,
    { role: 'assistant', content: `Answer: ${asked.map(({ river }) => river).join(', ')}` },
  ];
  return { messages, tools };
}

const folder = process.argv[2] ?? __dirname;
mkdirSync(folder, { recursive: true });
const write = (name, rows) =>
  writeFileSync(join(folder, name), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));

write(
  'documents.jsonl',
  documented.map(({ title, river }) => ({ title, text: `river ${river}` })),
);
write('demonstrations.jsonl', questionsAbout(demonstrated).map(demonstrate));
write(
  'questions.jsonl',
  questionsAbout(documented).map(({ places: asked, question, data_source }) => ({
    question,
    answer: asked.map(({ river }) => river).join(', '),
    data_source,
  })),
);
