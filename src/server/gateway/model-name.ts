import { isAbsolute } from 'node:path';
import { isValidName } from '../../core/names';
import { RequestError } from '../http/request-error';

/** What a client may mean by `model`. */
export type ModelName =
  | { readonly kind: 'path'; readonly path: string; readonly baseModel: string | null }
  | { readonly kind: 'run'; readonly run: string; readonly step: number | 'best' }
  /** A run's newest kept checkpoint, or a base model: which of them is known by who has it. */
  | { readonly kind: 'name'; readonly name: string };

export function readModelName(text: string): ModelName {
  const [, baseModel = null, path] = /^(?:([^=]+)=)?(tinker:\/\/.+)$/.exec(text) ?? [];
  if (path !== undefined) {
    if (baseModel !== null && namesFolder(baseModel)) throw unknownName(text);
    return { kind: 'path', path, baseModel };
  }
  return text.includes('@') ? readRunName(text) : { kind: 'name', name: text };
}

function readRunName(text: string): Extract<ModelName, { kind: 'run' }> {
  const at = text.lastIndexOf('@');
  const [run, step] = [text.slice(0, at), text.slice(at + 1)];
  if (isValidName(run) && step === 'best') return { kind: 'run', run, step };
  if (isValidName(run) && /^\d{1,12}$/.test(step)) return { kind: 'run', run, step: Number(step) };
  throw unknownName(text);
}

function unknownName(text: string): RequestError {
  return new RequestError(404, {
    message: `"${text.slice(0, 200)}" names no model. Write RUN@STEP, RUN, RUN@best, tinker://… or a base model; GET /v1/models lists them.`,
    param: 'model',
    code: 'model_not_found',
  });
}

/** Tokenizers are read from folders, too, and which folder of this machine is read is not a client's to say. */
export function namesFolder(model: string): boolean {
  return isAbsolute(model) || model.split(/[\\/]/).includes('..');
}
