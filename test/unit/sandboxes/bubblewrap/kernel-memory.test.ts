import { fileBytes } from '../../../../src/sandboxes/bubblewrap/kernel-memory';

test("the files of the machine are nobody's memory, as a sandbox sees them until it has its own", () => {
  expect(fileBytes(process.pid)).toBe(0);
});
