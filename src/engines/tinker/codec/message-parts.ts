/**
 * What reading a message would build, counted before anything is built.
 *
 * Two bytes of a message become an object of a hundred, so that a body within the limits of a server could take
 * gigabytes. Tensors are bytes and cost what they weigh.
 */
import type { DescField, DescMessage } from '@bufbuild/protobuf';
import { ScalarType } from '@bufbuild/protobuf';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { malformed } from './bytes';

/** Some tens of thousands of datums; official clients send at most 1024 in one message. */
const MOST_PARTS = 1_000_000;

const WIRE_TYPES: Readonly<Partial<Record<ScalarType, WireType>>> = {
  [ScalarType.STRING]: WireType.LengthDelimited,
  [ScalarType.BYTES]: WireType.LengthDelimited,
  [ScalarType.DOUBLE]: WireType.Bit64,
  [ScalarType.FLOAT]: WireType.Bit32,
};

interface Walk {
  readonly reader: BinaryReader;
  parts: number;
}

/** Throws for a message of too many parts, of parts that do not lie within one another, or with fields of a wrong type. */
export function checkParts(schema: DescMessage, bytes: Uint8Array): void {
  walkMessage({ reader: new BinaryReader(bytes), parts: 0 }, schema, bytes.length);
}

function walkMessage(walk: Walk, schema: DescMessage, end: number): void {
  const { reader } = walk;
  while (reader.pos < end) {
    const [number, wireType] = reader.tag();
    const field = schema.fields.find((candidate) => candidate.number === number);
    if (field) walkField(walk, { field, wireType, end });
    else reader.skip(wireType, number);
  }
  if (reader.pos > end) throw malformed('a part runs past the end of what holds it');
}

interface FieldPlace {
  readonly field: DescField;
  readonly wireType: WireType;
  readonly end: number;
}

function walkField(walk: Walk, place: FieldPlace): void {
  const { field, wireType } = place;
  count(walk, 1);
  if (field.fieldKind === 'map') walkEntry(walk, field, partEnd(walk, place));
  else if (field.message) walkMessage(walk, field.message, partEnd(walk, place));
  else if (field.fieldKind === 'list' && wireType === WireType.LengthDelimited) {
    const end = partEnd(walk, place);
    count(walk, end - walk.reader.pos);
    walk.reader.pos = end;
  } else {
    const expected = field.scalar === undefined ? WireType.Varint : wireTypeOf(field.scalar);
    if (wireType !== expected) throw malformed(`${field.name} is of another type than it should be`);
    walk.reader.skip(wireType);
  }
}

function walkEntry(walk: Walk, field: DescField & { fieldKind: 'map' }, end: number): void {
  const { reader } = walk;
  while (reader.pos < end) {
    const [number, wireType] = reader.tag();
    if (number === 1 && wireType === WireType.LengthDelimited) {
      // As a key of an object it would name the object's prototype, and what it holds would be lost.
      if (reader.string() === '__proto__') throw malformed(`${field.name} has the key "__proto__"`);
    } else if (number === 2 && field.message) {
      walkMessage(walk, field.message, partEnd(walk, { field, wireType, end }));
    } else reader.skip(wireType, number);
  }
  if (reader.pos > end) throw malformed('a part runs past the end of what holds it');
}

/** Where the part ends whose length stands here. */
function partEnd({ reader }: Walk, { field, wireType, end }: FieldPlace): number {
  if (wireType !== WireType.LengthDelimited)
    throw malformed(`${field.name} is of another type than it should be`);
  const length = reader.uint32();
  if (length > end - reader.pos) throw malformed(`${field.name} runs past the end of what holds it`);
  return reader.pos + length;
}

function count(walk: Walk, parts: number): void {
  walk.parts += parts;
  if (walk.parts > MOST_PARTS) throw malformed(`it holds more than ${MOST_PARTS} parts; send several`);
}

function wireTypeOf(scalar: ScalarType): WireType {
  return WIRE_TYPES[scalar] ?? WireType.Varint;
}
