import type { ChatTokenizer, TokenizerFiles } from './hugging-face-tokenizer';
import { createHuggingFaceTokenizer } from './hugging-face-tokenizer';
import type { TiktokenFiles } from './tiktoken-tokenizer';
import { createTiktokenTokenizer } from './tiktoken-tokenizer';

/** What a tokenizer is made of, as it was read. */
export type FilesOfTokenizer = TokenizerFiles | TiktokenFiles;

export function createTokenizer(files: FilesOfTokenizer): ChatTokenizer {
  return 'ranks' in files ? createTiktokenTokenizer(files) : createHuggingFaceTokenizer(files);
}
