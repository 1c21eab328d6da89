import { RuntimeFault } from "@postern/core";

/** @param command how the next command is typed */
export function noWorkers(command: string): RuntimeFault {
  return new RuntimeFault(
    "config_invalid",
    `The configuration has no \`workers\`. Write where NATS is and whose keys are known: docs/guide/workers.md; \`${command} workers key\` prints the key of this side.`,
  );
}
