import { gzipSync } from 'node:zlib';
import { unpackFiles } from '../../../src/engines/tinker/weights-archive';
import type { FuzzTarget } from '../target';

/** A tar with one file, without its checksum's help: 512 bytes of header, the file, two empty blocks. */
function tarOf(name: string, content: string): Buffer {
  const header = Buffer.alloc(512);
  header.write(name, 0);
  header.write('0000644\0', 100);
  header.write(`${content.length.toString(8).padStart(11, '0')}\0`, 124);
  header.write('        0', 148);
  header.write('ustar\0' + '00', 257);
  header.write(
    `${header
      .reduce((sum, byte) => sum + byte, 0)
      .toString(8)
      .padStart(6, '0')}\0 `,
    148,
  );
  return Buffer.concat([header, Buffer.from(content.padEnd(512, '\0')), Buffer.alloc(1024)]);
}

/** What a training service packs weights into; an input is the tar, or the gzip of one. */
export const target: FuzzTarget = {
  name: 'weights-archive',
  seeds: () => [tarOf('adapter_config.json', '{"r":8}'), gzipSync(tarOf('a', 'b'))],
  words: ['ustar', '00000000017\0', '././@PaxHeader', '77777777777\0'],
  run(bytes) {
    const isPacked = bytes[0] === 0x1f && bytes[1] === 0x8b;
    return unpackFiles(isPacked ? bytes : gzipSync(bytes), () => true);
  },
};
