/** The `chains` section of a configuration file. Only src/config imports this: code mode itself knows no zod. */
import { z } from "zod";
import type { SnakeCased } from "../core/case.ts";
import { driversSchema, type EngineSettingsData } from "../engines/drivers-config.ts";
import type { ChainOptions } from "./chain-options.ts";

export type ChainsSection = Omit<ChainOptions, "drivers" | "engineSettings"> & {
  readonly engineSettings?: EngineSettingsData;
  readonly enabled?: boolean;
};

const mebibyte = 1024 * 1024;
const ms = (max: number, what: string) => z.int().min(1).max(max).exactOptional().describe(`${what}, in milliseconds.`);

export const chainsSchema: z.ZodType<SnakeCased<ChainsSection>> = z.strictObject({
  enabled: z
    .boolean()
    .exactOptional()
    .describe("Offer `tool_chain`; true when nothing is said and an engine can run here."),
  engines: z
    .array(z.string().min(1).max(64))
    .min(1)
    .max(16)
    .exactOptional()
    .describe(
      "Which engines may run scripts, in the order they are tried. One that is named and cannot run is an error.",
    ),
  engine_settings: driversSchema
    .exactOptional()
    .describe("Settings of engines that run elsewhere, where `engines` names them."),
  limits: z
    .strictObject({
      max_tool_calls: z
        .int()
        .min(0)
        .max(10_000)
        .exactOptional()
        .describe("Calls of one script; 50 when nothing is said."),
      call_timeout_ms: ms(86_400_000, "How long one call of a script may take; 60000 when nothing is said"),
      approval_wait_ms: ms(86_400_000, "How long a script holds the line for a person; 55000 when nothing is said"),
      total_timeout_ms: ms(86_400_000, "How long a script may take; 300000 when nothing is said"),
      max_inline_result_bytes: z
        .int()
        .min(64)
        .max(16 * mebibyte)
        .exactOptional()
        .describe("Larger results are handles."),
      max_risk_unapproved: z
        .enum(["safe", "medium", "high"])
        .exactOptional()
        .describe("Above it a script's calls ask a person, whatever the autonomy level says."),
    })
    .exactOptional(),
  cpu_ms: ms(600_000, "Processor time of a script; 10000 when nothing is said"),
  memory_bytes: z
    .int()
    .min(16 * mebibyte)
    .max(4096 * mebibyte)
    .exactOptional()
    .describe("Of a script; 128 MiB."),
  output_bytes: z
    .int()
    .min(1024)
    .max(64 * mebibyte)
    .exactOptional()
    .describe("What it may print and answer; 1 MiB."),
  argument_bytes: z
    .int()
    .min(64 * 1024)
    .max(16 * mebibyte)
    .exactOptional()
    .describe("Arguments of one call; 4 MiB. Larger values go by reference (`artifacts.put`)."),
  argument_values: z
    .int()
    .min(1_000)
    .max(1_000_000)
    .exactOptional()
    .describe(
      "Values and names in the arguments of one call, and in a script's answer; 100000 when nothing is said. Of names in one object a tenth of it.",
    ),
  calls_at_once: z
    .int()
    .min(1)
    .max(1000)
    .exactOptional()
    .describe("Calls of a script that are under way at the same time; 16 when nothing is said."),
});

/** Returns undefined if scripts are off. */
export function chainOptionsFrom({ enabled, ...options }: ChainsSection): ChainOptions | undefined {
  return enabled === false ? undefined : options;
}
