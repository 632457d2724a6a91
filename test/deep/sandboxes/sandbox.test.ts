import { PyodideKind } from '../../../src/sandboxes/pyodide/pyodide-kind';
import type { Leases } from '../../../src/sandboxes/leases/leases';
import type { SandboxKind } from '../../../src/sandboxes/sandbox';
import { describeSandbox } from '../../contract/sandbox-suite';

describeSandbox('new pyodide', (leases) => withoutRenewal(leases));

/** Each test has a process of its own. */
function withoutRenewal(leases: Leases): SandboxKind {
  const kind = new PyodideKind(leases);
  return {
    name: kind.name,
    isSlowToOpen: kind.isSlowToOpen,
    availability: () => kind.availability(),
    async open() {
      const sandbox = await kind.open();
      return {
        kind: sandbox.kind,
        exec: (argv, options) => sandbox.exec(argv, options),
        writeFile: (path, content) => sandbox.writeFile(path, content),
        readFile: (path) => sandbox.readFile(path),
        close: () => sandbox.close(),
      };
    },
  };
}
