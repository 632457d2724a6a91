import { readEnvironment } from '../config/environment';
import type { RenderRequest } from '../training/render-file';
import { openRenderSite, renderFile } from '../training/render-file';

/** Answers the lines of a JSONL file by a renderer alone; tokenizers that are not here come from the hub. */
export async function* renderLines(file: string, request: RenderRequest): AsyncGenerator<object> {
  const { cacheFolder, huggingFaceToken: token, huggingFaceUrl: hubUrl } = readEnvironment();
  const site = await openRenderSite(request, {
    cacheFolder,
    ...(token !== null && { token }),
    ...(hubUrl !== null && { hubUrl }),
  });
  yield* renderFile(file, site);
}
