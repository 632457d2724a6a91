import { Command } from 'commander';
import { readEnvironment } from '../../config/environment';
import { stopStack } from '../../stack/stop-stack';
import type { StoppedStack } from '../../stack/stop-stack';
import { openOutput } from '../output';
import type { PlaceFlags } from '../service-options';
import { addPlaces } from '../service-options';

export function stopCommand(): Command {
  const command = new Command('stop')
    .description(
      'End the `dev` of this folder and its services, and wait until they are gone; runs go on at the next start',
    )
    .action(async (_, own: Command) => {
      await run(own.optsWithGlobals<PlaceFlags>());
    });
  return addPlaces(command, { store: false });
}

async function run(flags: PlaceFlags): Promise<void> {
  const output = openOutput(flags);
  const { dataFolder } = readEnvironment(flags);
  const onSignal = (pid: number): void => {
    output.reassure(`Stopping dev (process ${pid})…`);
  };
  output.line(stoppedText(await stopStack(dataFolder, { onSignal }), dataFolder));
}

function stoppedText({ pid, services }: StoppedStack, dataFolder: string): string {
  const named = services.map((service) => `${service.name} (${service.pid})`).join(', ');
  if (pid === null && named === '') return `No dev runs in ${dataFolder}: there is nothing to stop.`;
  if (pid === null) return `No dev runs in ${dataFolder}; what one had left is ended: ${named}.`;
  return `Stopped dev (process ${pid})${named === '' ? '' : ` and its services: ${named}`}. Runs go on at the next start.`;
}
