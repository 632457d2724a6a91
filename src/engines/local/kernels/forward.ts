// All layers of a packed network over rows that attend to caches, in one call: between small operations, the way into
// WebAssembly and back would take as long as they do. The operations and their order are those of training.

import { attendCache, storeInCache } from './cache-attention';
import { matrixProduct } from './matrix-product';
import { gatherRows, normForward, rotate, swigluForward } from './rows';
import { FLOAT } from './simd';

// Written by `Forward` in ../compute/forward.ts; its layers follow.
// @ts-ignore: decorator
@unmanaged
class Plan {
  width: i32;
  layers: i32;
  heads: i32;
  keyHeads: i32;
  headWidth: i32;
  feedForward: i32;
  normEpsilon: f32;
  cacheStep: i32;
  cosines: i32;
  sines: i32;
  embedding: i32;
  finalNorm: i32;
}

// @ts-ignore: decorator
@unmanaged
class Layer {
  inputNorm: i32;
  queries: i32;
  keys: i32;
  values: i32;
  attended: i32;
  feedForwardNorm: i32;
  gate: i32;
  up: i32;
  down: i32;
}

// @ts-ignore: decorator
@inline
function multiply(R: i32, inputs: i32, outputs: i32, X: usize, W: i32, Y: usize, add: i32): void {
  matrixProduct(R, outputs, inputs, X, inputs, <usize>W, Y, outputs, add);
}

// Returns where the final hidden states are, or 0 if rows are only to be remembered: then the last layer stores its keys and
// values, which is all that later rows look at. SCRATCH has room for `forwardScratchFloats`.
export function forwardRows(
  PLAN: usize,
  R: i32,
  TOKEN: usize,
  POSITION: usize,
  CACHE: usize,
  isRemembered: bool,
  SCRATCH: usize,
): usize {
  const plan = changetype<Plan>(PLAN);
  const width = plan.width;
  const headWidth = plan.headWidth;
  const keyWidth = plan.keyHeads * headWidth;
  const cosines = <usize>plan.cosines;
  const sines = <usize>plan.sines;
  const keyBytes = <usize>keyWidth * FLOAT;
  const step = <usize>plan.cacheStep;

  const wide = <usize>(R * width) * FLOAT;
  const narrow = <usize>(R * keyWidth) * FLOAT;
  const stream = SCRATCH;
  const input = stream + wide;
  const inverses = input + wide;
  // The two halves of a layer use the rest in turn.
  const rest = inverses + ((<usize>R * FLOAT + 63) & ~63);
  const queries = rest;
  const keys = queries + wide;
  const values = keys + narrow;
  const attended = values + narrow;
  const scores = attended + wide;
  const gate = rest;
  const up = gate + <usize>(R * plan.feedForward) * FLOAT;

  gatherRows(R, width, TOKEN, <usize>plan.embedding, stream);
  let at = PLAN + offsetof<Plan>();
  for (let l = 0; l < plan.layers; l++) {
    const layer = changetype<Layer>(at);
    const keyOffset = <usize>(2 * l) * keyBytes;
    const valueOffset = keyOffset + keyBytes;
    normForward(R, width, stream, <usize>layer.inputNorm, input, inverses, plan.normEpsilon);
    multiply(R, width, keyWidth, input, layer.keys, keys, 0);
    multiply(R, width, keyWidth, input, layer.values, values, 0);
    rotate(R, plan.keyHeads, headWidth, POSITION, cosines, sines, keys, 1);
    storeInCache(R, keyWidth, keys, CACHE, keyOffset, step, POSITION);
    storeInCache(R, keyWidth, values, CACHE, valueOffset, step, POSITION);
    if (isRemembered && l == plan.layers - 1) return 0;

    multiply(R, width, width, input, layer.queries, queries, 0);
    rotate(R, plan.heads, headWidth, POSITION, cosines, sines, queries, 1);
    attendCache(
      R,
      plan.heads,
      plan.keyHeads,
      headWidth,
      queries,
      CACHE,
      keyOffset,
      valueOffset,
      step,
      POSITION,
      attended,
      scores,
    );
    multiply(R, width, width, attended, layer.attended, stream, 1);

    normForward(R, width, stream, <usize>layer.feedForwardNorm, input, inverses, plan.normEpsilon);
    multiply(R, width, plan.feedForward, input, layer.gate, gate, 0);
    multiply(R, width, plan.feedForward, input, layer.up, up, 0);
    swigluForward(R * plan.feedForward, gate, up, gate, 0);
    multiply(R, plan.feedForward, width, gate, layer.down, stream, 1);
    at += offsetof<Layer>();
  }
  normForward(R, width, stream, <usize>plan.finalNorm, input, inverses, plan.normEpsilon);
  return input;
}
