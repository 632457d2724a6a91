/** Which sandbox runs code nobody trusts; `auto` is the first of the others that works. */
export const SANDBOX_CHOICES = ['auto', 'bubblewrap', 'docker', 'pyodide'] as const;

export type SandboxChoice = (typeof SANDBOX_CHOICES)[number];
