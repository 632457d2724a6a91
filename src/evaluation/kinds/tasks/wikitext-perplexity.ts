import { textField } from '../../graders/row-fields';
import { perplexity } from '../perplexity';

/** Paragraphs of WikiText-2, each on its own; headings and blank lines are left out. */
export const wikitextPerplexity = perplexity({
  name: 'wikitext_ppl',
  description: 'Perplexity a token on the paragraphs of the test split of WikiText-2',
  data: {
    hub: 'Salesforce/wikitext',
    revision: 'b08601e04326c79dfdd32d625aee71d232d685c3',
    split: 'test',
    configs: ['wikitext-2-raw-v1'],
  },
  get(row) {
    const text = textField(row, ['text']).trim();
    return text === '' || /^=.*=$/.test(text) ? null : text;
  },
});
