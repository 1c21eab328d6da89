import { FakeClock } from "../../packages/core/src/testing/clock.ts";
import { UpstreamConnection } from "../../packages/postern/src/mcp/client/connection.ts";
import type { ServerConfig } from "../../packages/postern/src/mcp/client/server-config.ts";
import type { Upstream, UpstreamEvents, UpstreamTool } from "../../packages/postern/src/mcp/client/upstream.ts";
import type { LocalTool } from "../../packages/postern/src/tools/kinds.ts";
import type { ToolBlock } from "../../packages/postern/src/tools/registered.ts";
import { aLogStore, bent } from "./log-store.ts";
import { somePins } from "./pins.ts";

export const tool = (name: string, description = ""): UpstreamTool => ({
  name,
  description,
  inputSchema: { type: "object" },
});

/** The server of a scene: its state and the requests it got. */
interface SceneServer {
  up: boolean;
  tools: UpstreamTool[];
  alive: boolean;
  opened: number[];
  closed: number;
  pings: number;
  events: UpstreamEvents | undefined;
}

export interface Scene {
  readonly clock: FakeClock;
  readonly server: SceneServer;
  readonly shelf: Map<string, LocalTool>;
  readonly blocks: Map<string, ToolBlock>;
  readonly pins: ReturnType<typeof somePins>;
  readonly told: string[];
  readonly notes: { type: string; data: object }[];
  readonly connection: UpstreamConnection;
  readonly slowDown: () => void;
}

/** One server that can be switched off, with all that is reported about it. */
export function scene(
  tools: UpstreamTool[] = [tool("read")],
  config: ServerConfig = {},
  slowDisk?: Promise<void>,
): Scene {
  const clock = new FakeClock();
  const server: SceneServer = {
    up: true,
    tools,
    alive: true,
    opened: [],
    closed: 0,
    pings: 0,
    events: undefined,
  };
  const registered = new Map<string, LocalTool>();
  const blocks = new Map<string, ToolBlock>();
  const store = aLogStore(clock);
  let isSlow = false;
  const commit: typeof store.commit = async (write, durability) => {
    if (isSlow) await slowDisk;
    return store.commit(write, durability);
  };
  const pins = somePins(clock, bent(store, { commit }));
  const slowDown = (): void => {
    isSlow = true;
  };
  const messages: string[] = [];
  const notes: { type: string; data: object }[] = [];
  const open = async (events: UpstreamEvents): Promise<Upstream> => {
    server.opened.push(clock.monotonic());
    server.events = events;
    return {
      processId: undefined,
      connect: async () => {
        if (!server.up) throw new Error("refused");
        return { name: "fake", version: "1", revision: "2025-11-25" };
      },
      listTools: async () => ({ tools: server.tools, malformed: [] }),
      callTool: async () => ({ content: [], isError: false }),
      readResource: () => Promise.resolve([]),
      ping: async () => {
        server.pings += 1;
        if (!server.alive) {
          events.onClose("no answer");
          throw new Error("no answer");
        }
      },
      close: async () => {
        server.closed += 1;
      },
    };
  };
  const connection = new UpstreamConnection("files", config, {
    clock,
    random: () => 0.5,
    redact: (text) => text,
    open,
    pins,
    note: (type, _summary, data) => {
      notes.push({ type, data });
    },
    registry: {
      register: (local, { replace }) => {
        if (registered.has(local.name) !== (replace === true)) throw new Error("replace does not fit");
        if (local.name.endsWith("cursed")) throw new Error("its schema is broken");
        registered.set(local.name, local);
      },
      unregister: (name) => void registered.delete(name),
      block: (name, block) => void (block === undefined ? blocks.delete(name) : blocks.set(name, block)),
      schemaProblem: () => undefined,
      unavailable: () => undefined,
      setIdle: () => void messages.push("idle"),
      setServer: (_name, status, problem) =>
        void messages.push(problem === undefined ? status : `${status}: ${problem}`),
    },
  });
  return { clock, server, shelf: registered, blocks, pins, told: messages, notes, connection, slowDown };
}
