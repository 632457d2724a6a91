import { Document, Scalar, visit } from 'yaml';
import { escapeControls, escapeInJson } from '../core/escape-controls';

/**
 * A config as YAML beneath lines of comment. Both may be in foreign words: no comment ends before its line does, for any
 * reader of YAML, and no character gets into the file that moves a cursor or hides text.
 */
export function configText(config: Readonly<Record<string, unknown>>, comments: readonly string[]): string {
  const document = new Document(config);
  visit(document, {
    Scalar(_, node) {
      if (typeof node.value === 'string' && escapeControls(node.value) !== node.value)
        node.type = Scalar.QUOTE_DOUBLE;
    },
  });
  const head = comments.map((comment) => `# ${escapeControls(comment)}\n`).join('');
  // Unbroken, since a break within quotes is another text where spaces are beside it. In quotes, the escapes of JSON are those of YAML.
  return `${head}${escapeInJson(document.toString({ lineWidth: 0 }))}`;
}
