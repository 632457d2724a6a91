import { Argument, Command } from 'commander';
import { completionPlaces } from '../completion/completion-places';
import { bashScript, fishScript, zshScript } from '../completion/completion-scripts';
import { openOutput } from '../output';

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript };

export function createCommand(): Command {
  return new Command('completion')
    .description(
      'Print a script that completes commands and options in your shell; README says where to put it',
    )
    .addArgument(new Argument('<shell>').choices(Object.keys(SCRIPTS)))
    .action((shell: keyof typeof SCRIPTS, _flags: object, command: Command) => {
      const program = command.parent ?? command;
      openOutput({}).line(SCRIPTS[shell](completionPlaces(program)).trimEnd());
    });
}
