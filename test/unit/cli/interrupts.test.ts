import { catchInterrupts } from '../../../src/cli/interrupts';
import { recordOutput } from './recording-output';

afterEach(() => jest.restoreAllMocks());

test('the first Ctrl-C is answered at once, its echo is ignored, the second one leaves', () => {
  const exit = jest.spyOn(process, 'exit').mockImplementation(() => undefined as never);
  const clock = jest.spyOn(performance, 'now').mockReturnValue(1000);
  const { output, stdout, stderr } = recordOutput({ terminal: true });
  const interrupts = catchInterrupts(output);
  try {
    output.status('bar');

    process.emit('SIGINT');
    expect(interrupts.signal.aborted).toBe(true);
    expect(stderr()).toBe('Stopping… (Ctrl-C again leaves at once)\n');
    expect(stdout()).toBe('bar\r\u001b[2K');

    clock.mockReturnValue(1010);
    process.emit('SIGINT');
    expect(exit).not.toHaveBeenCalled();

    clock.mockReturnValue(2000);
    process.emit('SIGINT');
    expect(exit).toHaveBeenCalledWith(130);
  } finally {
    interrupts.dispose();
  }
  expect(process.listenerCount('SIGINT')).toBe(0);
});
