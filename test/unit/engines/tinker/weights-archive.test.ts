import { gzipSync } from 'node:zlib';
import { packFiles, unpackFiles } from '../../../../src/engines/tinker/weights-archive';

const MEBIBYTE = 2 ** 20;

test('what was packed is unpacked', async () => {
  const archive = await packFiles([{ name: 'model.safetensors', bytes: Buffer.from('weights') }]);

  const [file] = await unpackFiles(archive, () => true);

  expect(file?.bytes.toString()).toBe('weights');
});

test('an archive that comes to far more than weights do is refused while it is unpacked', async () => {
  const archive = await packFiles([{ name: 'model.safetensors', bytes: Buffer.alloc(80 * MEBIBYTE) }]);
  expect(archive.byteLength).toBeLessThan(MEBIBYTE);

  for (const wanted of [true, false]) {
    await expect(unpackFiles(archive, () => wanted)).rejects.toThrow(
      `from ${archive.byteLength} to more than 67108864 bytes`,
    );
  }
});

test('what is no tar is refused', async () => {
  await expect(unpackFiles(gzipSync(Buffer.alloc(2000, 1)), () => true)).rejects.toThrow(
    'not a readable tar.gz',
  );
});
