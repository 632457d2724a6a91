import type { Client, Connection } from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import type { SearchAttributePair } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import type { SupervisedConfig } from '../config/supervised-config';
import { ANSWER_LIMIT_MS } from './workflow-answers';

const { INDEXED_VALUE_TYPE_KEYWORD, INDEXED_VALUE_TYPE_INT, INDEXED_VALUE_TYPE_DOUBLE } =
  temporal.api.enums.v1.IndexedValueType;

/** What runs can be searched by on the server (ARCHITECTURE: search attributes). */
const ATTRIBUTES = {
  EverstepKind: INDEXED_VALUE_TYPE_KEYWORD,
  EverstepRun: INDEXED_VALUE_TYPE_KEYWORD,
  EverstepModel: INDEXED_VALUE_TYPE_KEYWORD,
  EverstepStatus: INDEXED_VALUE_TYPE_KEYWORD,
  EverstepStep: INDEXED_VALUE_TYPE_INT,
  EverstepScore: INDEXED_VALUE_TYPE_DOUBLE,
};

/** Whether the server knows our search attributes, once those it lacks were added where that is permitted. */
export async function ensureSearchAttributes(client: Client): Promise<boolean> {
  const { connection, namespace } = { connection: client.connection, namespace: client.options.namespace };
  if (!hasOperatorService(connection)) return false;
  try {
    return await connection.withDeadline(Date.now() + ANSWER_LIMIT_MS, async () => {
      const missing = await missingAttributes(connection, namespace);
      if (missing.length === 0) return true;
      const searchAttributes = Object.fromEntries(missing);
      await connection.operatorService.addSearchAttributes({ namespace, searchAttributes });
      return (await missingAttributes(connection, namespace)).length === 0;
    });
  } catch {
    // A server that lets nobody look or add (Temporal Cloud, for one) runs workflows all the same.
    return false;
  }
}

export function searchAttributesAtStart(run: string, config: SupervisedConfig): SearchAttributePair[] {
  const keyword = (name: string) => defineSearchAttributeKey(name, SearchAttributeType.KEYWORD);
  return [
    { key: keyword('EverstepKind'), value: config.kind },
    { key: keyword('EverstepRun'), value: run },
    { key: keyword('EverstepModel'), value: config.model },
    { key: keyword('EverstepStatus'), value: 'running' },
    { key: defineSearchAttributeKey('EverstepStep', SearchAttributeType.INT), value: 0 },
  ];
}

async function missingAttributes(connection: Connection, namespace: string) {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  return Object.entries(ATTRIBUTES).filter(([name]) => customAttributes[name] === undefined);
}

function hasOperatorService(connection: Client['connection']): connection is Connection {
  return 'operatorService' in connection;
}
