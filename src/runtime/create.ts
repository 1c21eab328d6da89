import type { Runtime } from "./api.ts";
import type { RuntimeOptions } from "./options.ts";

/**
 * Opens the store, settles what a dead process left behind, and wires the path. The parts are loaded at the first call,
 * so that importing the package is cheap.
 *
 * @throws RuntimeFault for invalid options; everything that was opened is closed again
 *
 * @public
 */
export async function createRuntime(options: RuntimeOptions = {}): Promise<Runtime> {
  const { openRuntime } = await import("./runtime.ts");
  return openRuntime(options);
}
