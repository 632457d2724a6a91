import type { EngineSource } from './benchmark-run';
import type { TemplateArguments } from './conversation';

interface AskedFormat {
  readonly renderer?: string | undefined;
  readonly templateArguments?: TemplateArguments | undefined;
}

/** How conversations become tokens there, as it is asked for. What a template was given is of no use to another renderer. */
export function withFormat<Source extends Pick<EngineSource, 'renderer' | 'templateArguments'>>(
  { renderer: own, templateArguments: ownArguments, ...source }: Source,
  asked: AskedFormat,
): Omit<Source, 'renderer' | 'templateArguments'> & Pick<EngineSource, 'renderer' | 'templateArguments'> {
  const renderer = asked.renderer ?? own;
  const templateArguments =
    asked.templateArguments ?? (asked.renderer === undefined ? ownArguments : undefined);
  return {
    ...source,
    ...(renderer !== undefined && { renderer }),
    ...(templateArguments && { templateArguments }),
  };
}
