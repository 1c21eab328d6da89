import { join } from "node:path";
import { type Clock, defined } from "@postern/core";
import type { Redactor } from "../../secrets/secret-store.ts";
import type { RunFolders } from "../../system/run-folders.ts";
import type { LocalTool } from "../../tools/kinds.ts";
import type { Action } from "../../tools/tool.ts";
import { CandidateService } from "./candidate-service.ts";
import { openEmbeddedMemory } from "./embedded-memory.ts";
import type { MemorySettings } from "./memory-config.ts";
import { memoryTools } from "./memory-tools.ts";
import { type ServerMemoryOptions, serverMemory } from "./server-memory.ts";

export interface MemoryContext {
  /** The data folder, for the file of the embedded provider. */
  readonly folder: string;
  readonly runs: RunFolders;
  readonly clock: Clock;
  readonly redactor?: Pick<Redactor, "redact"> | undefined;
  readonly openArtifact: NonNullable<ServerMemoryOptions["open"]>;
}

type OfferedAction = Pick<Action, "tool" | "facts">;

/** A configured memory: its tools, and the service by which people decide on candidates. */
export interface OpenMemory {
  readonly tools: readonly LocalTool[];
  readonly candidates: CandidateService;
  /** A warning for the operator about other tools that agents may call, or undefined. */
  warningFor(offered: readonly OfferedAction[]): string | undefined;
  close(): void;
}

/** If agents may call the tools of a memory server directly, they write without a decision. */
function warningFor({ provider, writeMode }: MemorySettings, offered: readonly OfferedAction[]): string | undefined {
  if (provider === undefined) return noProvider;
  if (provider === "embedded" || writeMode === "external") return undefined;
  const writing = offered.filter(({ facts }) => facts.server === provider.server && facts.effects !== "read");
  if (writing.length === 0) return undefined;
  const names = writing.map(({ tool }) => `\`${tool}\``).join(", ");
  return `\`memory.write_mode\` is \`${writeMode}\`, but agents may call ${names} themselves. Deny them to agents: docs/reference/memory.md says how.`;
}

const noProvider =
  "`memory.provider` is `external`, and no MCP server is named `memory`: nothing is recalled. Add it to `servers`, or name yours: `provider: { server: NAME }`.";

/** @throws RuntimeFault `config_invalid`, `options_invalid` */
export async function openMemory(settings: MemorySettings, context: MemoryContext): Promise<OpenMemory> {
  const { provider: kind, writeMode, scopes } = settings;
  const { runs, clock, redactor } = context;
  const embedded =
    kind === "embedded" ? await openEmbeddedMemory(join(context.folder, "memory.db"), { clock }) : undefined;
  const provider =
    typeof kind === "object" ? serverMemory({ server: kind.server, open: context.openArtifact }) : embedded?.provider;
  const options = {
    ...defined({ provider, scopes, redactor }),
    runs,
    clock,
  };
  return {
    tools: memoryTools({ ...options, writeMode }),
    candidates: new CandidateService(options),
    warningFor: (offered) => warningFor(settings, offered),
    close: () => embedded?.close(),
  };
}
