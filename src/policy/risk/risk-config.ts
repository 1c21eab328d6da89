/** `adjusters` and `pack` of the policy section (snake_case) and what they become. */
import { z } from "zod";
import type { AdjusterOptions } from "./adjusters.ts";
import type { PackOptions } from "./pack.ts";

type Off<T> = false | T | undefined;

export interface AdjustersFile {
  readonly broadcast?: Off<{
    readonly more_than?: number | undefined;
    readonly groups?: readonly string[] | undefined;
    readonly arguments?: readonly string[] | undefined;
  }>;
  readonly destructive?: Off<{ readonly words?: readonly string[] | undefined }>;
  readonly blast_radius?: Off<{ readonly more_than?: number | undefined }>;
}

type Within = "principal" | "tenant";

export interface PackFile {
  readonly quiet_hours?: { readonly from: string; readonly to: string; readonly time_zone: string } | undefined;
  readonly anti_flap?:
    | {
        readonly cooldown_seconds: number;
        readonly tools?: readonly string[] | undefined;
        readonly within?: Within | undefined;
      }
    | undefined;
  readonly notifications?:
    | { readonly tools: readonly string[]; readonly max_per_hour: number; readonly within?: Within | undefined }
    | undefined;
}

const texts = z.array(z.string().min(1));
const count = z.int().min(0);
const within = z.enum(["principal", "tenant"]).optional().describe("whose calls count");
const timeOfDay = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'Write a time of day in quotes: "22:00".');

function orOff<T extends z.ZodType>(options: T, what: string) {
  return z
    .union([z.literal(false), options])
    .optional()
    .describe(`${what}; false: off`);
}

const adjusters: z.ZodType<AdjustersFile> = z.strictObject({
  broadcast: orOff(
    z.strictObject({
      more_than: count.optional().describe("recipients; 10 when nothing is said"),
      groups: texts.optional().describe("names and addresses that are groups of yours; * stands for anything"),
      arguments: texts
        .optional()
        .describe("arguments that name recipients, for tools that do not name them themselves"),
    }),
    "many recipients, or a group",
  ),
  destructive: orOff(
    z.strictObject({ words: texts.optional() }),
    "destructive effects, or an action called delete, wipe, reset and the like",
  ),
  blast_radius: orOff(
    z.strictObject({ more_than: count.optional().describe("things changed by one call; 100 when nothing is said") }),
    "how much one call changes, as the tool says",
  ),
});

export const adjustersSchema: z.ZodType<AdjustersFile | false> = z.union([z.literal(false), adjusters]);

export const packSchema: z.ZodType<PackFile> = z.strictObject({
  quiet_hours: z
    .strictObject({
      from: timeOfDay,
      to: timeOfDay.describe("the first minute after; earlier than `from`: past midnight"),
      time_zone: z.string().min(1).describe("IANA name, Europe/Berlin for example"),
    })
    .optional()
    .describe("what does more than read is raised one level, and from medium on a person is asked"),
  anti_flap: z
    .strictObject({ cooldown_seconds: z.number().positive(), tools: texts.min(1).optional(), within })
    .optional()
    .describe("the same tool, action and target again so soon is blocked"),
  notifications: z
    .strictObject({ tools: texts.min(1), max_per_hour: count, within })
    .optional()
    .describe("more calls of these tools in an hour are blocked, and one alarm is raised"),
});

export function adjustersFrom(file: AdjustersFile | false): AdjusterOptions | false {
  return file === false ? false : (respelled(file) as AdjusterOptions); // the file form of that type, key by key
}

export function packFrom(file: PackFile): PackOptions {
  return respelled(file) as PackOptions; // the file form of that type, key by key
}

/** Every key that has two spellings. */
const spellings: ReadonlyMap<string, string> = new Map([
  ["more_than", "moreThan"],
  ["blast_radius", "blastRadius"],
  ["quiet_hours", "quietHours"],
  ["time_zone", "timeZone"],
  ["anti_flap", "antiFlap"],
  ["cooldown_seconds", "cooldownSeconds"],
  ["max_per_hour", "maxPerHour"],
]);

function respelled(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  return Object.fromEntries(fields.map(([key, field]) => [spellings.get(key) ?? key, respelled(field)]));
}
