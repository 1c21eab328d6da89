import type { Runtime } from "./api/api.ts";
import type { RuntimeOptions } from "./options/options.ts";

/**
 * Opens the store, settles what a dead process left behind, and wires the path. The parts are loaded at the first call,
 * so that importing the package is cheap. Warns of tools that no agent is offered because no policy rule names them.
 *
 * @throws RuntimeFault for invalid options; everything that was opened is closed again
 *
 * @public
 */
export async function createRuntime(options: RuntimeOptions = {}): Promise<Runtime> {
  const [{ openRuntime }, { warnOfOffTools }] = await Promise.all([
    import("./runtime.ts"),
    import("./options/off-tools.ts"),
  ]);
  const runtime = await openRuntime(options);
  warnOfOffTools(runtime, options);
  return runtime;
}
