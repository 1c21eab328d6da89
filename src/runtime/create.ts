import type { Runtime } from "./api.ts";
import type { RuntimeOptions } from "./options.ts";

/**
 * Opens the store, settles what a dead process left behind, and wires the path. The parts are loaded here, at the first
 * call: importing the package costs only what its names need.
 *
 * @throws RuntimeFault for anything in the options that cannot work: nothing is half started then
 * @public
 */
export async function createRuntime(options: RuntimeOptions = {}): Promise<Runtime> {
  const { openRuntime } = await import("./runtime.ts");
  return openRuntime(options);
}
