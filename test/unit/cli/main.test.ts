import { main } from '../../../src/cli/main';

test('what the program writes is for nobody else to write, also where no mask is set', async () => {
  const usual = process.umask(0);
  const output = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  try {
    await main(['node', 'everstep', 'completion', 'bash']);

    expect(process.umask(usual)).toBe(0o022);
  } finally {
    process.umask(usual);
    output.mockRestore();
  }
});
