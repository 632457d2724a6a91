/** What a worker says about itself, so that a run is refused before it starts when a name it needs is not there. */
export interface WorkerDescription {
  readonly everstepVersion: string;
  readonly node: string;
}

/** Activities that every role has. */
export function createWorkerActivities(description: WorkerDescription) {
  return {
    async describeWorker(): Promise<WorkerDescription> {
      return description;
    },
  };
}
