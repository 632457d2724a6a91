import { DomainError } from '../core/errors';

const KEY = /tml-|eyJ[\w-]{8}|[?#@]/;

/** Refuses an address that holds a key, a user or a query: addresses are printed and stored. Says where, and never what. */
export function refuseKeyInAddress(source: string, address: string): void {
  if (!KEY.test(address)) return;
  throw new DomainError(
    'bad-config',
    `${source}: the address of the training service holds a key, user or query, and addresses are printed and stored. Give the bare address, and the key in TINKER_API_KEY.`,
  );
}
