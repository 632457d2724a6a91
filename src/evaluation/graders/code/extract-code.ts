const PYTHON_BLOCK = /```(?:python|py)3?[ \t]*\r?\n([^]*?)```/i;
const ANY_BLOCK = /```[\w+-]*[ \t]*\r?\n([^]*?)```/g;
const OPEN_BLOCK = /```(?:python|py)3?[ \t]*\r?\n([^]*)$/i;
/** The form of MBPP's own prompt. */
const MARKED = /\[BEGIN\]\r?\n?([^]*?)\[DONE\]/;

/**
 * The code of a reply: its first block marked as Python, else its last block, else a Python block that is not closed (a stop text ended it),
 * else what stands between [BEGIN] and [DONE]. Null where nothing is marked as code. Indentation is kept.
 */
export function findCodeBlock(text: string): string | null {
  const python = PYTHON_BLOCK.exec(text)?.[1];
  const found = python ?? lastBlock(text) ?? OPEN_BLOCK.exec(text)?.[1] ?? MARKED.exec(text)?.[1];
  return found === undefined ? null : withoutBlankEnds(found);
}

/** The code of a reply, which is code as a whole where nothing in it is marked. */
export function extractCode(text: string): string {
  return findCodeBlock(text) ?? withoutBlankEnds(text);
}

function lastBlock(text: string): string | undefined {
  return [...text.matchAll(ANY_BLOCK)].at(-1)?.[1];
}

/** Blank lines before and after; the first line keeps its indentation. */
function withoutBlankEnds(code: string): string {
  return code.replace(/^(?:[ \t]*\r?\n)+/, '').trimEnd();
}
