/** Bytes of a page, one after another. It throws where they end before the page does. */
export class PageReader {
  offset = 0;

  constructor(readonly bytes: Uint8Array) {}

  get left(): number {
    return this.bytes.length - this.offset;
  }

  byte(): number {
    const byte = this.bytes[this.offset];
    if (byte === undefined) throw damaged('it ends before its values do');
    this.offset++;
    return byte;
  }

  skip(length: number): void {
    if (!(length >= 0 && length <= this.left)) throw damaged('it ends before its values do');
    this.offset += length;
  }

  take(length: number): PageReader {
    const start = this.offset;
    this.skip(length);
    return new PageReader(this.bytes.subarray(start, this.offset));
  }

  /** Of so many bytes, the lowest first. */
  unsigned(byteCount: number): number {
    let value = 0;
    for (let index = 0; index < byteCount; index++) value += this.byte() * 2 ** (8 * index);
    return value;
  }

  /** Of 32 bits. */
  varint(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.byte();
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80 && value < 2 ** 32) return value;
    }
    throw damaged('a number in it is too large');
  }
}

/** What is wrong with a page; the file's name and the remedy are added where it is read. */
export function damaged(detail: string): Error {
  return new Error(`a page is damaged: ${detail}`);
}
