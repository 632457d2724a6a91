import type { TemplateArguments } from '../core/conversation';
import { DomainError } from '../core/errors';
import type { ServerProfile, SupportedModel } from '../engines/tinker/profile';
import { checkRendererFits, recommendedRendererFor } from '../renderers/recommended-renderer';
import { checkTemplateArguments, promptFormatOf } from '../renderers/template-arguments';

interface Service {
  readonly url: string;
  readonly profile: Pick<ServerProfile, 'server'>;
}

interface RendererChoice {
  readonly model: string;
  readonly renderer?: string | undefined;
  readonly templateArguments?: TemplateArguments | undefined;
}

const ELSEWHERE = ' For others set TINKER_API_KEY (the Tinker service), or name a service with --engine.';
const LISTED = 8;
const NEAREST = 3;
const NEAR_ENOUGH = 0.5;

/** The renderer asked for, or the model's own; refuses one that is not made for the model. */
export function rendererFor({ renderer, model, templateArguments }: RendererChoice): string {
  const name = renderer ?? recommendedRendererFor(model);
  checkRendererFits(name, model);
  checkTemplateArguments(name, templateArguments);
  return name;
}

/** How conversations become tokens there: the renderer, with what its template is given. */
export function engineFormat(source: RendererChoice): string {
  return promptFormatOf({ ...source, name: rendererFor(source) });
}

/** Refuses a model that the service does not train, with the names most like it. A service that lists nothing is asked by opening it. */
export function requireOffered(model: string, models: readonly SupportedModel[], service: Service): void {
  if (models.length === 0 || models.some(({ name, isTrainable }) => name === model && isTrainable)) return;
  const names = models.filter(({ isTrainable }) => isTrainable).map(({ name }) => name);
  const isOurs = service.profile.server === 'everstep';
  throw new DomainError(
    'unknown-model',
    `model: "${model}" is not offered for training by ${service.url}. ${remedyFor(model, names)}${isOurs ? ELSEWHERE : ''}`,
  );
}

function remedyFor(model: string, names: readonly string[]): string {
  if (names.length === 0) return 'It offers none.';
  if (names.length <= LISTED) return `It offers: ${names.join(', ')}.`;
  const near = names
    .map((name) => ({ name, likeness: likeness(model, name) }))
    .filter((candidate) => candidate.likeness >= NEAR_ENOUGH)
    .sort((one, other) => other.likeness - one.likeness)
    .slice(0, NEAREST)
    .map(({ name }) => name);
  const meant = near.length > 0 ? `Near that name: ${near.join(', ')}. ` : '';
  return `${meant}\`everstep doctor\` lists all ${names.length}.`;
}

/** Share of the letter pairs that two names have in common, whoever owns the models. */
function likeness(one: string, other: string): number {
  const pairs = pairsOf(one);
  const others = pairsOf(other);
  const common = [...pairs].filter((pair) => others.has(pair)).length;
  return (2 * common) / Math.max(1, pairs.size + others.size);
}

function pairsOf(model: string): Set<string> {
  const name = (model.split('/').at(-1) ?? '').toLowerCase();
  return new Set(
    Array.from({ length: Math.max(0, name.length - 1) }, (_, index) => name.slice(index, index + 2)),
  );
}
