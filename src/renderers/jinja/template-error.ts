/** What the reading of a template or its rendering refuses. */
export class TemplateError extends Error {}

/** A template that no other spelling of the conversation would bring to an end. */
export class EndlessTemplate extends TemplateError {}
