/** The `chains` section of a configuration file. Only packages/postern/src/config imports this, so code mode itself needs no zod. */

import type { CamelCased } from "@postern/core";
import { z } from "zod";
import type { ChainOptions } from "./chain-options.ts";
import { driversSchema } from "./drivers-config.ts";

const mebibyte = 1024 * 1024;
const whole = (min: number, max: number, what: string) => z.int().min(min).max(max).exactOptional().describe(what);
const ms = (max: number, what: string) => whole(1, max, `${what}, in milliseconds.`);
const dayMs = 86_400_000;

const limits = z.strictObject({
  max_tool_calls: whole(0, 10_000, "Calls of one script. Default 50."),
  call_timeout_ms: ms(dayMs, "How long one call of a script may take. Default 60000"),
  approval_wait_ms: ms(dayMs, "How long a script waits for a person before it is frozen. Default 55000"),
  total_timeout_ms: ms(dayMs, "How long a script may take. Default 300000"),
  max_inline_result_bytes: whole(64, 16 * mebibyte, "Larger results are handles."),
  max_risk_unapproved: z
    .enum(["safe", "medium", "high"])
    .exactOptional()
    .describe("A script's calls above this risk ask a person, whatever the autonomy level says."),
});

export const chainsSchema = z.strictObject({
  enabled: z.boolean().exactOptional().describe("Offer `tool_chain`. Default true if an engine can run here."),
  engines: z
    .array(z.string().min(1).max(64))
    .min(1)
    .max(16)
    .exactOptional()
    .describe(
      "The engines that may run scripts, in the order they are tried. A named engine that cannot run is an error.",
    ),
  engine_settings: driversSchema
    .exactOptional()
    .describe("Settings of engines that run on other machines. They are used only if `engines` names them."),
  limits: limits.exactOptional(),
  cpu_ms: ms(600_000, "Processor time of a script. Default 10000"),
  memory_bytes: whole(16 * mebibyte, 4096 * mebibyte, "Memory of a script. Default 128 MiB."),
  output_bytes: whole(1024, 64 * mebibyte, "What it may print and return. Default 1 MiB."),
  argument_bytes: whole(
    64 * 1024,
    16 * mebibyte,
    "Arguments of one call. Default 4 MiB. Larger values go by reference (`artifacts.put`).",
  ),
  argument_values: whole(
    1_000,
    1_000_000,
    "Values and names in the arguments of one call, and in a script's answer. Default 100000. One object may have a tenth of it as names.",
  ),
  calls_at_once: whole(1, 1000, "Calls of a script that run at the same time. Default 16."),
});

type ChainsSection = CamelCased<z.output<typeof chainsSchema>>;

/** Returns undefined if scripts are off. */
export function chainOptionsFrom({ enabled, ...options }: ChainsSection): ChainOptions | undefined {
  return enabled === false ? undefined : options;
}
