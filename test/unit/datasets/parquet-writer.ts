/** A value of Thrift's compact protocol: an integer, bytes, a list, or a struct by its fields' numbers. */
type Thrift = number | string | Uint8Array | readonly Thrift[] | { readonly [field: number]: Thrift };

/** A page as it is written, whatever it says of itself. */
export interface WrittenPage {
  readonly type: 'data' | 'newer' | 'dictionary';
  /** As its header says. */
  readonly size: number;
  readonly count: number;
  readonly encoding: number;
  readonly packed: Uint8Array;
  /** Of a newer page. */
  readonly nullCount?: number;
  readonly levelBytes?: number;
}

export interface WrittenColumn {
  readonly codec: number;
  readonly type: number;
  readonly pages: readonly WrittenPage[];
  readonly name?: string;
  /** Whether rows may be without it. */
  readonly isOptional?: boolean;
  readonly isJson?: true;
}

export const CODECS = { none: 0, snappy: 1, gzip: 2, brotli: 4, lz4: 5, zstd: 6, lz4Raw: 7 };
export const TYPES = { boolean: 0, int32: 1, int64: 2, float: 4, text: 6 };
export const ENCODINGS = { plain: 0, runs: 3, deltas: 5, lengths: 6, prefixes: 7, dictionary: 8, split: 9 };

/** A file of one group of rows. */
export function writeParquet(rowCount: number, columns: readonly WrittenColumn[]): Buffer {
  const parts: Uint8Array[] = [Buffer.from('PAR1')];
  const schema: Thrift[] = [{ 4: 'root', 5: columns.length }];
  const chunks: Thrift[] = [];
  for (const { codec, type, pages, name = 'prompt', isOptional = false, isJson } of columns) {
    const start = Buffer.concat(parts).length;
    const body = Buffer.concat(pages.map(pageOf));
    const first = pages[0]?.type === 'dictionary' ? Buffer.from(pageOf(pages[0])).length : 0;
    const text = kindOf(type, isJson);
    parts.push(body);
    schema.push({ 1: type, 3: isOptional ? 1 : 0, 4: name, ...text });
    const places = { 9: start + first, ...(first > 0 ? { 11: start } : {}) };
    chunks.push({
      3: { 1: type, 2: [0], 3: [name], 4: codec, 5: rowCount, 6: body.length, 7: body.length, ...places },
    });
  }
  const footer = encode({ 1: 1, 2: schema, 3: rowCount, 4: [{ 1: chunks, 2: 0, 3: rowCount }] });
  return Buffer.concat([...parts, footer, uint32(footer.length), Buffer.from('PAR1')]);
}

/** How the schema calls what its bytes are. */
function kindOf(type: number, isJson = false): { [field: number]: Thrift } {
  return type === TYPES.text ? { 6: isJson ? 19 : 0 } : {};
}

/** A column of texts one behind the other. */
export function textColumn(name: string, texts: readonly string[]): WrittenColumn {
  const packed = packedTexts(texts);
  const page = { size: packed.length, count: texts.length, encoding: ENCODINGS.plain, packed };
  return { codec: CODECS.none, type: TYPES.text, name, pages: [{ type: 'data', ...page }] };
}

/** A column whose rows all refer to one text of its dictionary. */
export function referringColumn(name: string, text: string, count: number): WrittenColumn {
  const dictionary = packedTexts([text]);
  const places = Buffer.concat([Buffer.from([1]), varint(count * 2), Buffer.from([0])]);
  return {
    ...{ codec: CODECS.none, type: TYPES.text, name },
    pages: [
      {
        ...{ type: 'dictionary', size: dictionary.length, count: 1 },
        ...{ encoding: ENCODINGS.plain, packed: dictionary },
      },
      {
        ...{ type: 'data', size: places.length, count },
        ...{ encoding: ENCODINGS.dictionary, packed: places },
      },
    ],
  };
}

function packedTexts(texts: readonly string[]): Buffer {
  return Buffer.concat(texts.flatMap((text) => [uint32(Buffer.byteLength(text)), Buffer.from(text)]));
}

function pageOf({ type, size, count, encoding, packed, nullCount = 0, levelBytes = 0 }: WrittenPage): Buffer {
  const sizes = { 2: size, 3: packed.length };
  const header: Record<WrittenPage['type'], Thrift> = {
    data: { 1: 0, ...sizes, 5: { 1: count, 2: encoding, 3: 3, 4: 3 } },
    newer: { 1: 3, ...sizes, 8: { 1: count, 2: nullCount, 3: count, 4: encoding, 5: levelBytes, 6: 0 } },
    dictionary: { 1: 2, ...sizes, 7: { 1: count, 2: 0 } },
  };
  return Buffer.concat([encode(header[type]), packed]);
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

export function varint(value: number): Buffer {
  const bytes: number[] = [];
  let left = value;
  for (; left >= 128; left = Math.floor(left / 128)) bytes.push((left % 128) + 128);
  return Buffer.from([...bytes, left]);
}

function typeOf(value: Thrift): number {
  // 32 bits are as many as are read of 64, where they are written alike.
  if (typeof value === 'number') return 5;
  if (typeof value === 'string' || value instanceof Uint8Array) return 8;
  return Array.isArray(value) ? 9 : 12;
}

function encode(value: Thrift): Buffer {
  if (typeof value === 'number') return varint(value >= 0 ? value * 2 : -value * 2 - 1);
  if (typeof value === 'string') return encode(Buffer.from(value));
  if (value instanceof Uint8Array) return Buffer.concat([varint(value.length), value]);
  if (isList(value)) {
    const type = value[0] === undefined ? 12 : typeOf(value[0]);
    return Buffer.concat([Buffer.from([0xf0 + type]), varint(value.length), ...value.map(encode)]);
  }
  let last = 0;
  const fields = Object.entries(value).map(([key, item]) => {
    const tag = (Number(key) - last) * 16 + typeOf(item);
    last = Number(key);
    return Buffer.concat([Buffer.from([tag]), encode(item)]);
  });
  return Buffer.concat([...fields, Buffer.from([0])]);
}

function isList(value: Thrift): value is readonly Thrift[] {
  return Array.isArray(value);
}
