const END = String.raw`[^[\],;]{1,200}`;
const INTERVAL = String.raw`([[\](])(${END}[,;]${END})([[\])])`;
const OPERATION = String.raw`\s?\\(?:cup|cap|setminus)(?![a-zA-Z])\s?`;
const MEMBER = String.raw`[a-zA-Z]\s?\\in(?![a-zA-Z])\s?`;
const ALL = new RegExp(`^(?:${MEMBER})?${INTERVAL}(?:${OPERATION}${INTERVAL}){0,20}$`);

/** Intervals whose brackets look away from what they leave out, `]2,3[` and `[2,3[`, as `(2,3)` and `[2,3)`; any other text is as it was. */
export function withUsualBrackets(text: string): string {
  if (!ALL.test(text)) return text;
  return text.replace(new RegExp(INTERVAL, 'g'), (interval) => {
    const [open, close] = [interval.slice(0, 1), interval.slice(-1)];
    return `${open === ']' ? '(' : open}${interval.slice(1, -1)}${close === '[' ? ')' : close}`;
  });
}
