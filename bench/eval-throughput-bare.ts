/**
 * The least a client can do: each question of a file asked once over `node:http`, so many at a time, and the answer parsed.
 *
 *     npx jiti bench/eval-throughput-bare.ts URL FILE CONCURRENCY
 */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';

interface Bare {
  readonly url: string;
  readonly agent: Agent;
}

function ask({ url, agent }: Bare, question: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const messages = [{ role: 'user', content: question }];
    const body = JSON.stringify({ model: 'canned', messages, max_tokens: 512, temperature: 0, top_p: 1 });
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const sent = request(`${url}/chat/completions`, { method: 'POST', agent, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        resolve(JSON.parse(Buffer.concat(chunks).toString()));
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

async function main([url = '', file = '', concurrency = '1']: readonly string[]): Promise<void> {
  const bare = { url, agent: new Agent({ keepAlive: true }) };
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  const questions = lines.map((line) => (JSON.parse(line) as { question: string }).question).values();
  const drain = async (): Promise<void> => {
    for (const question of questions) await ask(bare, question);
  };
  await Promise.all(Array.from({ length: Number(concurrency) }, drain));
  bare.agent.destroy();
}

void main(process.argv.slice(2));
