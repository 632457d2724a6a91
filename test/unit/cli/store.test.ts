import { createCommand } from '../../../src/cli/commands/store';

test.each(['5', '40', '1w', ''])(
  'an age without its unit is refused, since seconds would be meant by nobody: %j',
  async (age) => {
    const words = ['gc', '--older-than', age, '--data-dir', '/nowhere', '--apply'];
    const command = createCommand().exitOverride();
    for (const each of command.commands) each.exitOverride().configureOutput({ writeErr: () => undefined });

    await expect(command.parseAsync(words, { from: 'user' })).rejects.toThrow(
      'Give a time such as 90s, 30m, 12h or 30d.',
    );
  },
);
