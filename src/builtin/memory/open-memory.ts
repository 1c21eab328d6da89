import { join } from "node:path";
import type { Clock } from "../../core/clock.ts";
import type { RunFolders } from "../../core/run-folders.ts";
import type { Redactor } from "../../secrets/secret-store.ts";
import type { LocalTool } from "../../tools/kinds.ts";
import type { Action } from "../../tools/tool.ts";
import { CandidateService } from "./candidate-service.ts";
import { openEmbeddedMemory } from "./embedded-memory.ts";
import type { MemorySettings } from "./memory-config.ts";
import { memoryTools } from "./memory-tools.ts";
import { type ServerMemoryOptions, serverMemory } from "./server-memory.ts";

export interface MemoryContext {
  /** The data folder: the embedded provider keeps its file there. */
  readonly folder: string;
  readonly runs: RunFolders;
  readonly clock: Clock;
  readonly redactor?: Pick<Redactor, "redact"> | undefined;
  readonly openArtifact: NonNullable<ServerMemoryOptions["open"]>;
}

type OfferedAction = Pick<Action, "tool" | "facts">;

/** A configured memory: its tools, and the desk at which people decide on candidates. */
export interface OpenMemory {
  readonly tools: readonly LocalTool[];
  readonly desk: CandidateService;
  /** What an operator should know, of what agents are offered beside these tools. */
  wayAround(offered: readonly OfferedAction[]): string | undefined;
  close(): void;
}

/**
 * A memory server's own tools are tools like any other: where agents may call them, they write without asking at the desk.
 * The sentence that says so; undefined: they may not, or they need not ask.
 */
function wayAround({ provider, writeMode }: MemorySettings, offered: readonly OfferedAction[]): string | undefined {
  if (provider === undefined) return noProvider;
  if (provider === "embedded" || writeMode === "external") return undefined;
  const writing = offered.filter(({ facts }) => facts.server === provider.server && facts.effects !== "read");
  if (writing.length === 0) return undefined;
  const names = writing.map(({ tool }) => `\`${tool}\``).join(", ");
  return `\`memory.write_mode\` is \`${writeMode}\`, but agents may call ${names} themselves. Deny them to agents: docs/reference/memory.md says how.`;
}

const noProvider =
  "`memory.provider` is `external`, and no MCP server is named `memory`: nothing is recalled. Add it to `servers`, or name yours: `provider: { server: NAME }`.";

/** @throws RuntimeFault `memory_unopenable`, `memory_invalid` */
export async function openMemory(settings: MemorySettings, house: MemoryContext): Promise<OpenMemory> {
  const { provider: kind, writeMode, scopes } = settings;
  const { runs, clock, redactor } = house;
  const embedded =
    kind === "embedded" ? await openEmbeddedMemory(join(house.folder, "memory.db"), { clock }) : undefined;
  const provider =
    typeof kind === "object" ? serverMemory({ server: kind.server, open: house.openArtifact }) : embedded?.provider;
  const options = {
    ...(provider !== undefined && { provider }),
    ...(scopes !== undefined && { scopes }),
    ...(redactor !== undefined && { redactor }),
    runs,
    clock,
  };
  return {
    tools: memoryTools({ ...options, writeMode }),
    desk: new CandidateService(options),
    wayAround: (offered) => wayAround(settings, offered),
    close: () => embedded?.close(),
  };
}
