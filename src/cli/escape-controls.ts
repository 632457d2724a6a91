export { escapeControls } from '../core/escape-controls';
