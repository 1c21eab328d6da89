import { hash, randomBytes } from "node:crypto";
import type { Principal } from "@postern/core";
import type { ClaimedCall } from "../pipeline/gates/stages.ts";
import type { ArtifactStore, ArtifactStream } from "../results/artifact-store.ts";

/** What the worker of one running call may do over HTTP, until the call ends. */
export interface OpenOrder {
  readonly principal: Principal;
  /** An artifact that the caller may use. @throws RuntimeFault `artifact_unavailable` */
  openArtifact(digest: string): Promise<ArtifactStream>;
  /** Keeps a large answer and returns its digest. */
  keepAnswer(text: string): Promise<string>;
}

/** Answers belong to no agent: what an agent may read of one is decided when the call is settled. */
function ownerOfAnswers({ tenant }: Principal): Principal {
  return { tenant, agent: "postern:answers" };
}

const prefix = "order_";

/** Short-lived tokens: one a call, known by its hash. */
export class OrderTokens {
  readonly #artifacts: ArtifactStore;
  readonly #orders = new Map<string, OpenOrder>();
  readonly #byCall = new Map<string, string>();

  constructor(artifacts: ArtifactStore) {
    this.#artifacts = artifacts;
  }

  add(call: ClaimedCall): string {
    const { principal } = call.authority;
    const token = prefix + randomBytes(32).toString("base64url");
    const name = hash("sha256", token);
    this.#byCall.set(call.id, name);
    this.#orders.set(name, {
      principal,
      openArtifact: async (digest) => {
        const opened = await this.#artifacts.openStream(digest, principal);
        call.artifacts.opened.add(digest); // the answer may hold its bytes
        return opened;
      },
      keepAnswer: async (text) => {
        const { digest } = await this.#artifacts.put(Buffer.from(text), "application/json", ownerOfAnswers(principal));
        return digest;
      },
    });
    return token;
  }

  order(token: string): OpenOrder | undefined {
    return this.#orders.get(hash("sha256", token));
  }

  remove(callId: string): void {
    const name = this.#byCall.get(callId);
    if (name !== undefined) this.#orders.delete(name);
    this.#byCall.delete(callId);
  }

  /** @throws RuntimeFault `artifact_unavailable` */
  async keptAnswer(digest: string, principal: Principal): Promise<string> {
    const { bytes } = await this.#artifacts.open(digest, ownerOfAnswers(principal));
    await this.#artifacts.unpin(digest);
    return Buffer.from(bytes).toString("utf8");
  }
}
