/** Keeps the beginning of a stream and counts the rest. */
export class BoundedText {
  private readonly kept: Buffer[] = [];
  private keptBytes = 0;
  /** All there was. */
  totalBytes = 0;
  /** Ends of lines in all there was. */
  lineCount = 0;

  constructor(private readonly limit: number) {}

  add(chunk: Buffer): void {
    this.totalBytes += chunk.length;
    for (let at = chunk.indexOf('\n'); at >= 0; at = chunk.indexOf('\n', at + 1)) this.lineCount += 1;
    const room = this.limit - this.keptBytes;
    if (room <= 0) return;
    const part = chunk.subarray(0, room);
    this.kept.push(part);
    this.keptBytes += part.length;
  }

  get isCut(): boolean {
    return this.totalBytes > this.keptBytes;
  }

  get text(): string {
    const bytes = Buffer.concat(this.kept);
    return bytes.subarray(0, this.isCut ? wholeCharacters(bytes) : bytes.length).toString('utf8');
  }
}

/** Length without a character that the cut left incomplete. */
function wholeCharacters(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(4, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0b1100_0000) === 0b1000_0000) continue;
    return widthOf(byte) > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

function widthOf(firstByte: number): number {
  if (firstByte >= 0xf0) return 4;
  if (firstByte >= 0xe0) return 3;
  return firstByte >= 0xc0 ? 2 : 1;
}
