import { splitSentences } from '../../../../src/evaluation/graders/ifeval/sentences';
import { splitEnglishWords } from '../../../../src/evaluation/graders/ifeval/words';

/** Decided by NLTK 3.10.4 with its English Punkt model. */
test.each([
  ['One. Two! Three?', ['One.', 'Two!', 'Three?']],
  ['Mr. Smith went to Washington, D.C. on Jan. 5th.', ['Mr. Smith went to Washington, D.C. on Jan. 5th.']],
  ['He was tired... Then he slept.', ['He was tired... Then he slept.']],
  ['He was tired... The end.', ['He was tired...', 'The end.']],
  ['Stop!!! Now?! Yes.', ['Stop!!!', 'Now?!', 'Yes.']],
  ['He said "No." (Really.) Then left.', ['He said "No."', '(Really.)', 'Then left.']],
  ['Version 2.5 is out. 3. Next', ['Version 2.5 is out.', '3.', 'Next']],
  ['in o. Let it be', ['in o.', 'Let it be']],
  ['J. Walter wrote', ['J. Walter wrote']],
  ['No end', ['No end']],
  ['a.b.c', ['a.b.c']],
  ['', []],
  ['...', ['...']],
])('sentences of %j', (text, sentences) => {
  expect(splitSentences(text)).toEqual(sentences);
});

test.each([
  ["I can't, won't!", ['I', 'ca', "n't", ',', 'wo', "n't", '!']],
  ['"HELLO" (U.S.A.) CANNOT 5,000', ['``', 'HELLO', "''", '(', 'U.S.A.', ')', 'CAN', 'NOT', '5,000']],
  ["the dog's 'S word--no", ['the', 'dog', "'s", "'S", 'word', '--', 'no']],
  ['a: b; c$', ['a', ':', 'b', ';', 'c', '$']],
])('words of %j', (text, words) => {
  expect(splitEnglishWords(text)).toEqual(words);
});
