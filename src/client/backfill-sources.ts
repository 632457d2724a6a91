import { BackfillHandle } from './backfill-handle';
import type { BackfillOptions } from './backfill-request';
import { backfillRequest, judgingOf } from './backfill-request';
import type { LookAtAddresses } from './check-endpoint';
import { addresseesOf } from './check-endpoint';
import type { WeightsView } from './eval-engine';
import type { RunSources } from './run-handle';

interface BackfillSources extends RunSources {
  readonly look: LookAtAddresses;
  readonly store: string;
  readonly view: WeightsView;
  /** Lets workers use what is named. */
  readonly allow: (named: object) => void;
}

/** The matrix that is asked for, as the store is now, ready to be started. */
export async function backfillHandle(
  options: BackfillOptions,
  { link, records, look, store, view, allow }: BackfillSources,
): Promise<BackfillHandle> {
  return new BackfillHandle(link, await backfillRequest(options, records, store), {
    ...view,
    judging: judgingOf(options, records, view),
    look: (isBegun) => look({ addressees: addresseesOf(options), isBegun }),
    allow: () => {
      allow(options);
    },
  });
}
