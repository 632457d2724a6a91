import type { Client, Connection } from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import type { SearchAttributePair } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import type { TrainingConfig } from '../config/training-config';
import { SEARCH_ATTRIBUTES } from '../stack/temporal-server';
import { ANSWER_LIMIT_MS } from './workflow-answers';

const { IndexedValueType } = temporal.api.enums.v1;

const TYPES = {
  Keyword: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
  Int: IndexedValueType.INDEXED_VALUE_TYPE_INT,
  Double: IndexedValueType.INDEXED_VALUE_TYPE_DOUBLE,
} as const;

/** One of the attributes runs can be searched by (ARCHITECTURE: search attributes). */
export interface WantedAttribute {
  readonly name: string;
  readonly type: keyof typeof TYPES;
}

export const WANTED: readonly WantedAttribute[] = Object.entries(SEARCH_ATTRIBUTES).map(([name, type]) => ({
  name,
  type,
}));

/** Whether the server knows our search attributes, once those it lacks were added where that is permitted. */
export async function ensureSearchAttributes(client: Client): Promise<boolean> {
  const { connection, namespace } = { connection: client.connection, namespace: client.options.namespace };
  if (!hasOperatorService(connection)) return false;
  try {
    return await connection.withDeadline(Date.now() + ANSWER_LIMIT_MS, async () => {
      const { missing } = await lookAtAttributes(connection, namespace);
      if (missing.length === 0) return true;
      await addAttributes(connection, namespace, missing);
      return (await lookAtAttributes(connection, namespace)).missing.length === 0;
    });
  } catch {
    // A server that lets nobody look or add (Temporal Cloud, for one) runs workflows all the same.
    return false;
  }
}

export interface AttributeState {
  readonly missing: readonly WantedAttribute[];
  /** There under our name with another type. */
  readonly clashing: readonly WantedAttribute[];
}

export async function lookAtAttributes(connection: Connection, namespace: string): Promise<AttributeState> {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  const typeOf = ({ name }: WantedAttribute) => customAttributes[name];
  return {
    missing: WANTED.filter((wanted) => typeOf(wanted) === undefined),
    clashing: WANTED.filter((wanted) => {
      const type = typeOf(wanted);
      return type !== undefined && type !== TYPES[wanted.type];
    }),
  };
}

export async function addAttributes(
  connection: Connection,
  namespace: string,
  attributes: readonly WantedAttribute[],
): Promise<void> {
  const searchAttributes = Object.fromEntries(attributes.map(({ name, type }) => [name, TYPES[type]]));
  await connection.operatorService.addSearchAttributes({ namespace, searchAttributes });
}

export function searchAttributesAtStart(run: string, config: TrainingConfig): SearchAttributePair[] {
  const keyword = (name: string) => defineSearchAttributeKey(name, SearchAttributeType.KEYWORD);
  return [
    { key: keyword('EverstepKind'), value: config.kind },
    { key: keyword('EverstepRun'), value: run },
    { key: keyword('EverstepModel'), value: config.model },
    { key: keyword('EverstepStatus'), value: 'running' },
    { key: defineSearchAttributeKey('EverstepStep', SearchAttributeType.INT), value: 0 },
  ];
}

function hasOperatorService(connection: Client['connection']): connection is Connection {
  return 'operatorService' in connection;
}
