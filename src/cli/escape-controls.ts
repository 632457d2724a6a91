export { escapeControls, escapeInJson } from '../core/escape-controls';
