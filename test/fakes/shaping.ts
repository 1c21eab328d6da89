import type { Principal } from "../../packages/core/src/call.ts";
import type { ContentBlock, ToolOutcome } from "../../packages/core/src/outcome.ts";
import { FakeClock } from "../../packages/core/src/testing/clock.ts";
import { directLimits, Session } from "../../packages/postern/src/call/session.ts";
import type {
  ArtifactStore,
  FindNeeded,
  SharedArtifactStore,
} from "../../packages/postern/src/results/artifact-store.ts";
import { MemoryArtifacts } from "../../packages/postern/src/results/memory-artifacts.ts";
import type { RawResult } from "../../packages/postern/src/results/raw-result.ts";
import { type ShapeParts, shape } from "../../packages/postern/src/results/shape.ts";
import type { Redactor } from "../../packages/postern/src/secrets/secret-store.ts";

export const owner: Principal = { tenant: "acme", agent: "writer" };
export const nothingSecret: Redactor = { learn() {}, redact: (text) => text, finds: () => false };
export const png: ContentBlock = { type: "image", mediaType: "image/png", data: "iVBORw0KGgo=" };

export function hiding(secret: string): Redactor {
  return {
    learn() {},
    redact: (text) => text.replaceAll(secret, "[redacted]"),
    finds: (text) => text.includes(secret),
  };
}

export const noneNeeded: FindNeeded = async () => new Set();

export function memoryArtifacts(): SharedArtifactStore {
  return new MemoryArtifacts({ clock: new FakeClock(), retentionMs: 0 });
}

export function newSession(): Session {
  return new Session(directLimits, new FakeClock());
}

export interface Setting extends Partial<ShapeParts> {
  readonly limitBytes?: number;
  readonly session?: Session;
}

export function shaped(raw: Partial<RawResult>, setting: Setting = {}): ToolOutcome | Promise<ToolOutcome> {
  const { limitBytes = 4096, session = newSession(), redactor = nothingSecret, ...parts } = setting;
  const order = { callId: "call_1", limitBytes, owner, session, tool: "draw" };
  return shape({ content: [], isError: false, ...raw }, order, { redactor, ...parts });
}

export function text(...texts: readonly string[]): Pick<RawResult, "content"> {
  return { content: texts.map((one) => ({ type: "text", text: one })) };
}

export async function kept(artifacts: ArtifactStore, digest: string | undefined): Promise<string> {
  return Buffer.from((await artifacts.open(digest ?? "", owner)).bytes).toString();
}

export function failing(after = 0): ArtifactStore {
  const store = memoryArtifacts();
  let puts = 0;
  return {
    ...store,
    put: (...given) => {
      puts += 1;
      if (puts > after) return Promise.reject(new Error("the disk is full"));
      return store.put(...given);
    },
  };
}
