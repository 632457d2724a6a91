import type * as loading from '../../../src/renderers/tokenizers/load-tokenizer';

type Loading = typeof loading;

const read = new Map<string, ReturnType<Loading['loadTokenizer']>>();

/**
 * What commands read tokenizers with, for suites of many commands: the product's own, once a folder, because a vocabulary takes a
 * second. Takes the place of load-tokenizer by `jest.mock`.
 */
export const loadTokenizer: Loading['loadTokenizer'] = (source) => {
  const key = JSON.stringify(source);
  const tokenizer =
    read.get(key) ??
    jest.requireActual<Loading>('../../../src/renderers/tokenizers/load-tokenizer').loadTokenizer(source);
  read.set(key, tokenizer);
  return tokenizer;
};
