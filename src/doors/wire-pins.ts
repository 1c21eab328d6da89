/** What an upstream tool is defined as, and what changed of it, on the wire (D22). */
import type { Json, JsonObject } from "../calls/json.ts";
import type { Difference } from "../tools/upstream/differences.ts";
import type { KeptDefinition } from "../tools/upstream/pin.ts";
import type { ToolChanges } from "../tools/upstream/pins.ts";
import { iso } from "./wire.ts";

export interface DefinitionWire {
  /** SHA-256 over what the server says of the tool. */
  readonly definition: string;
  readonly body: JsonObject;
  readonly at: string;
  /** The operator who approved it; none: it was trusted as it was first seen, or nobody has approved it. */
  readonly by?: string | undefined;
  /** And by which credential. */
  readonly via?: string | undefined;
}

export interface DifferenceWire {
  readonly field: string;
  readonly path?: string | undefined;
  readonly before?: Json | undefined;
  readonly after?: Json | undefined;
  readonly rows: readonly string[];
}

export interface ToolChangesWire {
  readonly tool: string;
  readonly server: string;
  readonly state: ToolChanges["state"];
  readonly pinned?: DefinitionWire | undefined;
  readonly offered?: DefinitionWire | undefined;
  readonly differences: readonly DifferenceWire[];
}

export function changesToWire({ tool, server, state, pinned, offered, differences }: ToolChanges): ToolChangesWire {
  return {
    tool,
    server,
    state,
    pinned: pinned && definitionToWire(pinned),
    offered: offered && definitionToWire(offered),
    differences: differences.map(differenceToWire),
  };
}

function definitionToWire({ digest, body, at, by, via }: KeptDefinition): DefinitionWire {
  return { definition: digest, body, at: iso(at), by, via };
}

function differenceToWire({ field, path, before, after, rows }: Difference): DifferenceWire {
  return { field, path, before, after, rows };
}
