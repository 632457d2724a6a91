import { DomainError } from '../../../src/core/errors';
import { asStoreError, asStoreErrorWithin } from '../../../src/stores/system-errors';

function refusal(code: string, path?: string): Error {
  return Object.assign(new Error(code), { code, syscall: 'open', ...(path !== undefined && { path }) });
}

const PATH = '/store/runs/a/evals/4/score/cell.json';

describe('a file of the store that cannot be written', () => {
  test.each(['EACCES', 'EPERM', 'EROFS', 'EIO', 'EMFILE', 'ENFILE', 'ESTALE', 'ENOSPC', 'EDQUOT'])(
    '%s is waited for, and says where and what to do',
    (code) => {
      const error = asStoreError(refusal(code, '/store/runs/a/evals/4'), PATH);

      expect(error).toBeInstanceOf(DomainError);
      expect(error).toMatchObject({ code: 'store-full', retryable: true });
      expect(error).toHaveProperty(
        'message',
        expect.stringMatching(`at ${PATH}: .+ \\(${code}\\)\\. .+; what waits`),
      );
    },
  );

  test.each([
    ['a folder on the way to it', '/store/runs'],
    ['a temporary file beside it', '/store/runs/a/evals/4/score/.cell.json.1.tmp'],
    ['itself', PATH],
  ])('is told by %s', (_what, failed) => {
    expect(asStoreError(refusal('EACCES', failed), PATH)).toHaveProperty('code', 'store-full');
  });

  test.each([
    ['a file elsewhere', refusal('EACCES', '/home/me/data.jsonl')],
    ['a file whose folder only begins alike', refusal('EACCES', '/store/ru')],
    ['a service', refusal('EACCES')],
    ['no system error', new Error('EACCES')],
    ['another code', refusal('ENOTDIR', PATH)],
  ])('is not told by %s', (_what, error) => {
    expect(asStoreError(error, PATH)).toBe(error);
  });

  test('a file that is open names no path when its disk fails', () => {
    expect(asStoreError(refusal('EIO'), PATH)).toHaveProperty('code', 'store-full');
  });
});

describe('work that also touches files of others', () => {
  test.each([PATH, '/store', '/store/runs/..a'])('%s lies in the store', (failed) => {
    const error = asStoreErrorWithin(refusal('EACCES', failed), '/store');

    expect(error).toMatchObject({ code: 'store-full', message: expect.stringContaining(failed) as unknown });
  });

  test.each(['/home/me/answers.json', '/store-of-others/file', '/'])(
    '%s is the failure of who opened it',
    (failed) => {
      const error = refusal('EACCES', failed);

      expect(asStoreErrorWithin(error, '/store')).toBe(error);
    },
  );
});
