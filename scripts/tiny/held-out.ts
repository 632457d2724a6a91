export { isHeldOutPair as heldOut } from '../../src/core/held-out-pairs';
