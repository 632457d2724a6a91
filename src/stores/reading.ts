import { constants } from 'node:fs';

/** How files are opened that others may have put there: a pipe in a file's place is empty, instead of waiting for a writer. */
export const READING = constants.O_RDONLY | constants.O_NONBLOCK;
