import { splitWords } from '../python-text';

const PUNCTUATION = /[!-/:-@[-`{-~]/g;
const CHINESE_PUNCTUATION =
  /[！？｡。＂＃＄％＆＇（）＊＋，－／：；＜＝＞＠［＼］＾＿｀｛｜｝～｟｠｢｣､、〃》「」『』【】〔〕〖〗〘〙〚〛〜〝〞〟〰〾〿–—‘’‛“”„‟…‧﹏.]/g;
const ARTICLE = /(?<![\p{L}\p{N}_])(?:a|an|the)(?![\p{L}\p{N}_])/gu;

/** Words in small letters, without punctuation and articles, as SQuAD compares answers. */
export function englishWords(text: string): readonly string[] {
  return splitWords(text.toLowerCase().replace(PUNCTUATION, '').replace(ARTICLE, ' '));
}

/** Chinese words without punctuation. */
export function chineseWords(text: string): readonly string[] {
  return segmentChinese(text)
    .map((word) =>
      splitWords(word.toLowerCase().replace(PUNCTUATION, '').replace(CHINESE_PUNCTUATION, '')).join(''),
    )
    .filter((word) => word !== '');
}

/** Chinese references have under 2,000 characters; what stands behind this many is not compared. */
const CHINESE_LIMIT = 20_000;

/**
 * Words by Unicode's dictionary, white space included. The official scripts use jieba, whose dictionary is another: a word
 * that one splits and the other does not moves a Chinese score a little.
 */
export function segmentChinese(text: string): readonly string[] {
  const segmenter = new Intl.Segmenter('zh', { granularity: 'word' });
  // The segmenter copies its whole input for every word it finds, so it is given a sentence at a time.
  const sentences = text.slice(0, CHINESE_LIMIT).match(/[^。！？\n]{1,200}[。！？\n]?|[。！？\n]/g) ?? [];
  return sentences.flatMap((sentence) => Array.from(segmenter.segment(sentence), ({ segment }) => segment));
}
