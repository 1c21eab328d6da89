/** The `chains` section of a configuration file. Only src/config imports this: code mode itself knows no zod. */
import { z } from "zod";
import { given } from "../calls/given.ts";
import { type LimitsFile, limitsFrom } from "../calls/limits-file.ts";
import type { ChainOptions } from "./chain-options.ts";
import { type DriversFile, driversSchema, engineSettingsFrom } from "./drivers-config.ts";

export interface ChainsFile {
  readonly enabled?: boolean | undefined;
  readonly engines?: readonly string[] | undefined;
  readonly engine_settings?: DriversFile | undefined;
  readonly limits?: LimitsFile | undefined;
  readonly cpu_ms?: number | undefined;
  readonly memory_bytes?: number | undefined;
  readonly output_bytes?: number | undefined;
  readonly argument_bytes?: number | undefined;
  readonly argument_values?: number | undefined;
  readonly calls_at_once?: number | undefined;
}

const mebibyte = 1024 * 1024;
const ms = (max: number, what: string): z.ZodType<number | undefined> =>
  z.int().min(1).max(max).optional().describe(`${what}, in milliseconds.`);

export const chainsSchema: z.ZodType<ChainsFile> = z.strictObject({
  enabled: z.boolean().optional().describe("Offer `tool_chain`; true when nothing is said and an engine can run here."),
  engines: z
    .array(z.string().min(1).max(64))
    .min(1)
    .max(16)
    .optional()
    .describe(
      "Which engines may run scripts, in the order they are tried. One that is named and cannot run is an error.",
    ),
  engine_settings: driversSchema
    .optional()
    .describe("Settings of engines that run elsewhere, where `engines` names them."),
  limits: z
    .strictObject({
      max_tool_calls: z.int().min(0).max(10_000).optional().describe("Calls of one script; 50 when nothing is said."),
      call_timeout_ms: ms(86_400_000, "How long one call of a script may take; 60000 when nothing is said"),
      approval_wait_ms: ms(86_400_000, "How long a script holds the line for a person; 55000 when nothing is said"),
      total_timeout_ms: ms(86_400_000, "How long a script may take; 300000 when nothing is said"),
      max_inline_result_bytes: z
        .int()
        .min(64)
        .max(16 * mebibyte)
        .optional()
        .describe("Larger results are handles."),
      max_risk_unapproved: z
        .enum(["safe", "medium", "high"])
        .optional()
        .describe("Above it a script's calls ask a person, whatever the autonomy level says."),
    })
    .optional(),
  cpu_ms: ms(600_000, "Processor time of a script; 10000 when nothing is said"),
  memory_bytes: z
    .int()
    .min(16 * mebibyte)
    .max(4096 * mebibyte)
    .optional()
    .describe("Of a script; 128 MiB."),
  output_bytes: z
    .int()
    .min(1024)
    .max(64 * mebibyte)
    .optional()
    .describe("What it may print and answer; 1 MiB."),
  argument_bytes: z
    .int()
    .min(64 * 1024)
    .max(16 * mebibyte)
    .optional()
    .describe("Arguments of one call; 4 MiB. Larger values go by reference (`artifacts.put`)."),
  argument_values: z
    .int()
    .min(1_000)
    .max(1_000_000)
    .optional()
    .describe(
      "Values and names in the arguments of one call, and in a script's answer; 100000 when nothing is said. Of names in one object a tenth of it.",
    ),
  calls_at_once: z
    .int()
    .min(1)
    .max(1000)
    .optional()
    .describe("Calls of a script that are under way at the same time; 16 when nothing is said."),
});

/** Undefined: off. */
export function chainOptionsFrom(file: ChainsFile): ChainOptions | undefined {
  if (file.enabled === false) return undefined;
  const { engines, engine_settings: settings, limits } = file;
  return given({
    engines,
    engineSettings: settings && engineSettingsFrom(settings),
    limits: limits && limitsFrom(limits),
    cpuMs: file.cpu_ms,
    memoryBytes: file.memory_bytes,
    outputBytes: file.output_bytes,
    argumentBytes: file.argument_bytes,
    argumentValues: file.argument_values,
    callsAtOnce: file.calls_at_once,
  });
}
